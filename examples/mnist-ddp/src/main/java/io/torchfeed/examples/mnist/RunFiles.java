// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import io.torchfeed.examples.common.OutputFolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * The output of a run except for its checkpoints: metrics, plot and progress. Only rank 0 writes;
 * on the other ranks every call does nothing.
 */
final class RunFiles {
  private final Settings settings;
  private final boolean first;
  private final MetricsCsv metrics;
  private double startSeconds;

  private RunFiles(Settings settings, boolean first, MetricsCsv metrics) {
    this.settings = settings;
    this.first = first;
    this.metrics = metrics;
  }

  static RunFiles of(Settings settings, boolean first, int epochsDone) {
    if (first) {
      OutputFolder.create(settings.out());
    }
    Path file = settings.out().resolve("metrics.csv");
    return new RunFiles(settings, first, MetricsCsv.after(file, first ? epochsDone : 0));
  }

  Progress progress(int epoch, long steps) {
    if (!first) {
      return Progress.silent();
    }
    String title = "epoch " + epoch + "/" + settings.epochs();
    return settings.bar()
        ? Progress.bar(title, steps, System.err)
        : Progress.lines(title, steps, System.out);
  }

  void say(String line) {
    if (first) {
      System.out.println(line);
    }
  }

  void firstBatch(double seconds) {
    startSeconds = seconds;
    say(String.format(Locale.ROOT, "process start to first batch: %.2f s", seconds));
  }

  /** Writes the metrics of an epoch. */
  void epochDone(EpochMetrics row) {
    if (first) {
      say(row.toText(settings.epochs()));
      metrics.add(row);
    }
  }

  /** Draws the plot; a failure, as on a machine without fonts, must not end the training. */
  void plot() {
    if (!first) {
      return;
    }
    Path file = settings.out().resolve("metrics.png");
    try {
      MetricsPlot.write(metrics.rows(), file);
    } catch (IOException | RuntimeException | LinkageError e) {
      System.err.println("warning: " + file + " was not drawn: " + e);
    }
  }

  /** Writes the figures for the comparison with Python. */
  void bench(double bareMilliseconds) {
    Path file = settings.bench().json();
    if (!first || file == null) {
      return;
    }
    List<String> epochs =
        metrics.rows().stream()
            .map(
                row ->
                    String.format(
                        Locale.ROOT,
                        "{\"seconds\": %.4f, \"data_wait_share\": %.6f, \"reduction_share\": %.6f,"
                            + " \"test_accuracy\": %.4f}",
                        row.seconds(),
                        row.waitShare(),
                        row.reductionShare(),
                        row.testAccuracy()))
            .toList();
    String json =
        String.format(
            Locale.ROOT,
            "{\"start_seconds\": %.3f, \"bare_step_ms\": %.4f, \"epochs\": [%s]}%n",
            startSeconds,
            bareMilliseconds,
            String.join(", ", epochs));
    try {
      OutputFile.write(file, json.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new CommandException("Cannot write " + file + ": " + MnistFolder.describe(e), e);
    }
  }
}
