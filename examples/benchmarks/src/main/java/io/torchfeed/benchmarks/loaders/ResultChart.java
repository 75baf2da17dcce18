// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.awt.Color;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The results as bar charts, one per row, stacked in a PNG. */
final class ResultChart {
  private static final int WIDTH = 1500;
  private static final int HEIGHT = 620;

  private ResultChart() {}

  static void write(List<Results> all, Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    List<CategoryChart> charts =
        all.stream().filter(each -> !each.entries().isEmpty()).map(ResultChart::chart).toList();
    try (OutputStream png = Files.newOutputStream(file)) {
      BitmapEncoder.saveBitmap(charts, charts.size(), 1, png, BitmapFormat.PNG);
    }
  }

  private static CategoryChart chart(Results results) {
    CategoryChart chart =
        new CategoryChartBuilder()
            .width(WIDTH)
            .height(HEIGHT)
            .title(results.row() + ": " + results.row().title())
            .yAxisTitle("thousand samples/s")
            .build();
    chart.getStyler().setLegendPosition(LegendPosition.OutsideE);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setXAxisLabelRotation(90);
    chart.getStyler().setXAxisTickMarkSpacingHint(1); // or every other name is omitted
    chart.getStyler().setYAxisMin(0.0);
    List<String> names = results.entries().stream().map(Entry::contestant).distinct().toList();
    for (Setting setting : Setting.values()) {
      List<Double> heights = new ArrayList<>();
      for (String name : names) {
        heights.add(
            results
                .find(name, setting)
                .map(entry -> results.rate(entry).median() / 1e3)
                .orElse(0.0));
      }
      chart.addSeries(setting.title(), names, heights);
    }
    return chart;
  }
}
