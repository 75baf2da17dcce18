// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.examples.common.OutputFile;
import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;

/** The metrics of a run: a line on the console, a CSV file and an image. */
final class Metrics {
  private static final String HEAD =
      "epoch,train_loss,test_accuracy,seconds,images_per_second,data_wait_share\n";

  /**
   * The metrics of an epoch.
   *
   * @param epoch counted from 1
   * @param trainLoss mean over the steps of rank 0
   * @param testAccuracy share of the test images classified correctly, in [0, 1]
   * @param seconds seconds of training, without evaluation
   * @param imagesPerSecond over all ranks
   * @param waitShare share of the seconds in which rank 0 waited for data
   */
  record Row(
      int epoch,
      double trainLoss,
      double testAccuracy,
      double seconds,
      double imagesPerSecond,
      double waitShare) {}

  private final Path folder;
  private final List<Row> rows = new ArrayList<>();

  Metrics(Path folder) {
    this.folder = folder;
  }

  void add(Row row) throws IOException {
    rows.add(row);
    System.out.printf(
        Locale.ROOT,
        "epoch %d: train loss %.4f, test accuracy %.2f %%, %.1f s, %.0f images/s,"
            + " waiting for data %.2f %%%n",
        row.epoch,
        row.trainLoss,
        100 * row.testAccuracy,
        row.seconds,
        row.imagesPerSecond,
        100 * row.waitShare);
    StringBuilder csv = new StringBuilder(HEAD);
    for (Row each : rows) {
      csv.append(
          String.format(
              Locale.ROOT,
              "%d,%.6f,%.6f,%.3f,%.1f,%.6f\n",
              each.epoch,
              each.trainLoss,
              each.testAccuracy,
              each.seconds,
              each.imagesPerSecond,
              each.waitShare));
    }
    OutputFile.write(
        folder.resolve("metrics.csv"), csv.toString().getBytes(StandardCharsets.UTF_8));
    draw();
  }

  private void draw() throws IOException {
    System.setProperty("java.awt.headless", "true");
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    BitmapEncoder.saveBitmap(
        List.of(
            chart("Training", "loss", "0.000", Row::trainLoss),
            chart("Test images", "% classified correctly", "0.0", row -> 100 * row.testAccuracy)),
        1,
        2,
        png,
        BitmapFormat.PNG);
    OutputFile.write(folder.resolve("metrics.png"), png.toByteArray());
  }

  private XYChart chart(String title, String unit, String pattern, ToDoubleFunction<Row> value) {
    XYChart chart =
        new XYChartBuilder().width(480).height(360).title(title).xAxisTitle("epoch").build();
    chart.setYAxisTitle(unit);
    chart.getStyler().setLegendVisible(false);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setYAxisDecimalPattern(pattern);
    chart.getStyler().setXAxisDecimalPattern("0");
    chart.getStyler().setXAxisMin(0.5);
    chart.getStyler().setXAxisMax(rows.size() + 0.5);
    chart.addSeries(
        title,
        rows.stream().mapToDouble(Row::epoch).toArray(),
        rows.stream().mapToDouble(value).toArray());
    return chart;
  }
}
