// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The lines of the rows of a table, which files have. Not thread-safe while it is filled. */
final class RowPlaces {
  private static final int FIRST = 1 << 10;

  private final List<Path> paths;
  private final int[] firstRows;
  private int files;
  private long[] lines = new long[FIRST];
  private int rows;

  RowPlaces(List<Path> paths) {
    this.paths = paths;
    firstRows = new int[paths.size()];
  }

  /** Begins with the next file. */
  void nextFile(int firstRow) {
    firstRows[files++] = firstRow;
  }

  void add(long line) {
    if (rows == lines.length) {
      lines = Arrays.copyOf(lines, Math.addExact(rows, rows / 2));
    }
    lines[rows++] = line;
  }

  /** Returns the place of a row, for example {@code data.csv, line 7}. */
  String of(int row) {
    int file = files - 1;
    while (firstRows[file] > row) {
      file--;
    }
    return "%s, line %d".formatted(paths.get(file), lines[row]);
  }
}
