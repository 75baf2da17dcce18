// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.examples.common.CurveChart;
import io.torchfeed.examples.common.OutputFile;
import io.torchfeed.examples.common.StepCurve;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

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
    double[] epochs = values(Row::epoch);
    CurveChart.write(
        folder.resolve("metrics.png"),
        CurveChart.of("Training", "step", "loss", "0.000")
            .line("loss", StepCurve.read(folder, "train/loss")),
        CurveChart.of("Test images", "epoch", "% classified correctly", "0.0")
            .line("accuracy", epochs, values(row -> 100 * row.testAccuracy())));
  }

  private double[] values(ToDoubleFunction<Row> value) {
    return rows.stream().mapToDouble(value).toArray();
  }
}
