// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The columns of numbers of a {@code metrics.csv} with a row for each epoch. */
final class TableFile {
  private static final int MAX_COLUMNS = 30;

  private TableFile() {}

  /** Returns a curve for each column of numbers behind the first one, which is the epoch. */
  static List<Curve> read(Path file) throws IOException {
    List<String> lines = RunFiles.lines(file);
    if (lines.isEmpty()) {
      return List.of();
    }
    String[] names = lines.get(0).split(",", MAX_COLUMNS);
    List<String[]> rows =
        lines.stream()
            .skip(1)
            .map(line -> line.split(",", MAX_COLUMNS))
            .filter(row -> row.length == names.length && row[0].matches("[0-9]{1,9}"))
            .toList();
    List<Curve> curves = new ArrayList<>();
    for (int column = 1; column < names.length; column++) {
      int at = column;
      double[] values = rows.stream().mapToDouble(row -> number(row[at])).toArray();
      long[] epochs = rows.stream().mapToLong(row -> Long.parseLong(row[0])).toArray();
      Curve curve = Curve.of(names[column], epochs, values);
      if (curve.size() > 0) {
        curves.add(curve);
      }
    }
    return curves;
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      return Double.NaN; // a text
    }
  }
}
