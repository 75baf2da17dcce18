// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.OutputFile;
import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A PNG with loss, accuracy and throughput over the epochs, side by side. */
final class MetricsPlot {
  private MetricsPlot() {}

  static void write(List<EpochMetrics> rows, Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    XYChart loss = chart("Loss", "mean loss per sample", "0.000");
    line(loss, "train", rows, EpochMetrics::trainLoss);
    line(loss, "test", rows, EpochMetrics::testLoss);
    XYChart accuracy = chart("Test accuracy", "% of 10,000", "0.00");
    line(accuracy, "test", rows, row -> 100 * row.testAccuracy());
    XYChart throughput = chart("Throughput", "rows per second, all ranks", "#,##0");
    throughput.getStyler().setYAxisMin(0.0);
    line(throughput, "training", rows, EpochMetrics::rowsPerSecond);
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    BitmapEncoder.saveBitmap(List.of(loss, accuracy, throughput), 1, 3, png, BitmapFormat.PNG);
    OutputFile.write(file, png.toByteArray());
  }

  private static XYChart chart(String title, String unit, String pattern) {
    XYChart chart =
        new XYChartBuilder()
            .width(480)
            .height(360)
            .title(title)
            .xAxisTitle("epoch")
            .yAxisTitle(unit)
            .build();
    chart.getStyler().setLegendPosition(LegendPosition.OutsideS);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setYAxisDecimalPattern(pattern);
    chart.getStyler().setXAxisDecimalPattern("0");
    return chart;
  }

  private static void line(
      XYChart chart, String name, List<EpochMetrics> rows, ToDoubleFunction<EpochMetrics> value) {
    double[] epochs = rows.stream().mapToDouble(EpochMetrics::epoch).toArray();
    double[] values = rows.stream().mapToDouble(value).toArray();
    chart.addSeries(name, epochs, values).setMarker(SeriesMarkers.CIRCLE);
    chart.getStyler().setXAxisMin(Arrays.stream(epochs).min().orElse(1) - 0.5);
    chart.getStyler().setXAxisMax(Arrays.stream(epochs).max().orElse(1) + 0.5);
  }
}
