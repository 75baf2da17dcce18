// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import java.awt.Color;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The results as bars, side by side, in a PNG. */
final class ResultChart {
  private static final int WIDTH = 560;
  private static final int HEIGHT = 420;

  private ResultChart() {}

  static void write(List<Result> results, Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    CategoryChart imbalance = chart("Time lost to the slowest rank", "% of the mean rank", "0.0");
    bars(imbalance, "real cost", results, each -> 100 * (each.report().real().mean() - 1));
    bars(imbalance, "padded cost", results, each -> 100 * (each.report().padded().mean() - 1));
    CategoryChart padding = chart("Padding", "% of the padded cost", "0");
    bars(padding, "padding", results, each -> 100 * each.report().padding());
    CategoryChart speedUp = chart("Speed-up over random", "times as fast", "0.00");
    bars(speedUp, "real cost", results, Result::speedUp);
    bars(speedUp, "padded cost", results, Result::paddedSpeedUp);
    try (OutputStream png = Files.newOutputStream(file)) {
      BitmapEncoder.saveBitmap(List.of(imbalance, padding, speedUp), 1, 3, png, BitmapFormat.PNG);
    }
  }

  private static CategoryChart chart(String title, String unit, String pattern) {
    CategoryChart chart =
        new CategoryChartBuilder()
            .width(WIDTH)
            .height(HEIGHT)
            .title(title)
            .yAxisTitle(unit)
            .build();
    chart.getStyler().setLegendPosition(LegendPosition.OutsideS);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setYAxisDecimalPattern(pattern);
    chart.getStyler().setXAxisLabelRotation(30);
    chart.getStyler().setYAxisMin(0.0);
    return chart;
  }

  private static void bars(
      CategoryChart chart, String name, List<Result> results, ToDoubleFunction<Result> value) {
    List<Double> heights =
        results.stream().map(each -> Math.max(0, value.applyAsDouble(each))).toList();
    chart.addSeries(name, results.stream().map(Result::name).toList(), heights);
  }
}
