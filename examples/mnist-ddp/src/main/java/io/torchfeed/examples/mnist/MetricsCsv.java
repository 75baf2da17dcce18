// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The {@code metrics.csv} of a run: one line per epoch, even after a resume. */
final class MetricsCsv {
  private final Path file;
  private final List<EpochMetrics> rows;

  private MetricsCsv(Path file, List<EpochMetrics> rows) {
    this.file = file;
    this.rows = rows;
  }

  /** Returns the metrics of a run that continues after {@code epoch}; drops later lines. */
  static MetricsCsv after(Path file, int epoch) {
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
    return new MetricsCsv(file, rows);
  }

  List<EpochMetrics> rows() {
    return List.copyOf(rows);
  }

  void add(EpochMetrics row) {
    rows.add(row);
    StringBuilder text = new StringBuilder(String.join(",", EpochMetrics.COLUMNS)).append('\n');
    rows.forEach(each -> text.append(each.toCsv()).append('\n'));
    try {
      OutputFile.write(file, text.toString().getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new CommandException("Cannot write " + file + ": " + MnistFolder.describe(e), e);
    }
  }
}
