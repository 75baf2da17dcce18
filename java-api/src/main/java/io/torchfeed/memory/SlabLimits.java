// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import java.util.List;

/** The rows that a slab can hold, and the memory that they take. */
final class SlabLimits {
  private static final long MAX_COLUMN = Integer.MAX_VALUE;
  private static final long ALIGNMENT = 64;

  private SlabLimits() {}

  static void requireFits(List<RowSpec> columns, int rows) {
    if (columns.isEmpty() || rows < 1) {
      throw new IllegalArgumentException(
          "a slab needs at least one column and one row, got %d and %d"
              .formatted(columns.size(), rows));
    }
    for (int i = 0; i < columns.size(); i++) {
      RowSpec row = columns.get(i);
      if (row.dtype().unitBytes() < row.dtype().bytes()) {
        throw new IllegalArgumentException(
            ("a column of a slab must not be complex, got %s in column %d; write its real and"
                    + " imaginary parts as a column [..., 2], and use view_as_complex")
                .formatted(row, i));
      }
      if (row.bytes() > MAX_COLUMN) {
        throw new IllegalArgumentException(
            "a row must have fewer than 2^31 bytes, got %s of %s"
                .formatted(row.shape(), row.dtype()));
      }
      if (row.bytes() * rows > MAX_COLUMN) {
        throw new IllegalArgumentException(
            ("a column of a slab must have fewer than 2^31 bytes, got %d rows of %s in column %d;"
                    + " use smaller batches")
                .formatted(rows, row, i));
      }
    }
  }

  static long bytes(List<RowSpec> columns, int rows) {
    requireFits(columns, rows);
    long bytes = 0;
    for (RowSpec column : columns) {
      bytes += (column.bytes() * rows + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return bytes;
  }
}
