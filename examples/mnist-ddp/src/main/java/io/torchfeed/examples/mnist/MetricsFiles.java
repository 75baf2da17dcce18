// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.CurveChart;
import io.torchfeed.examples.common.OutputFile;
import io.torchfeed.examples.common.StepCurve;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The {@code metrics.csv} of a run, one line per epoch, even after a resume, and {@code
 * metrics.png}.
 */
final class MetricsFiles {
  private final Path file;
  private final List<EpochMetrics> rows;

  private MetricsFiles(Path file, List<EpochMetrics> rows) {
    this.file = file;
    this.rows = rows;
  }

  /** Returns the metrics of a run that continues after {@code epoch}; drops later lines. */
  static MetricsFiles after(Path file, int epoch) {
    List<EpochMetrics> rows = new ArrayList<>();
    if (epoch > 0 && Files.exists(file)) {
      try {
        Files.readAllLines(file, StandardCharsets.UTF_8).stream()
            .skip(1)
            .map(EpochMetrics::parse)
            .filter(row -> row.epoch() <= epoch)
            .forEach(rows::add);
      } catch (IOException | IllegalArgumentException e) {
        throw new CommandException("Cannot read " + file + ": " + e.getMessage(), e);
      }
    }
    return new MetricsFiles(file, rows);
  }

  void add(EpochMetrics row) {
    rows.add(row);
    StringBuilder text = new StringBuilder(EpochMetrics.HEAD).append('\n');
    rows.forEach(each -> text.append(each.toCsv()).append('\n'));
    try {
      OutputFile.write(file, text.toString().getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new CommandException("Cannot write " + file + ": " + e, e);
    }
  }

  /**
   * Draws loss and throughput over the steps, from the curves of rank 0, and the results of the
   * epochs. A failure, as on a machine without fonts, must not end the training.
   *
   * @param epochSteps the steps of an epoch
   */
  void plot(double epochSteps) {
    Path run = file.resolveSibling(".").normalize();
    Path png = file.resolveSibling("metrics.png");
    try {
      StepCurve loss = StepCurve.read(run, "train/loss");
      StepCurve rate = StepCurve.read(run, "train/samples per second");
      double[] steps = values(row -> row.epoch() * epochSteps);
      CurveChart.write(
          png,
          CurveChart.of("Loss", "step", "mean loss per sample", "0.000")
              .line("train", loss)
              .line("test", steps, values(EpochMetrics::testLoss)),
          CurveChart.of("Test accuracy", "epoch", "% of 10,000", "0.00")
              .line("test", values(EpochMetrics::epoch), values(row -> 100 * row.testAccuracy())),
          CurveChart.of("Throughput", "step", "rows per second, all ranks", "#,##0")
              .fromZero()
              .line("training", rate)
              .line("mean of an epoch", steps, values(EpochMetrics::rowsPerSecond)));
    } catch (IOException | RuntimeException | LinkageError e) {
      System.err.println("warning: " + png + " was not drawn: " + e);
    }
  }

  private double[] values(ToDoubleFunction<EpochMetrics> value) {
    return rows.stream().mapToDouble(value).toArray();
  }
}
