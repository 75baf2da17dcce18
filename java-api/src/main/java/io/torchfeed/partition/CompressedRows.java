// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * A sparse matrix in compressed rows (CSR): of each row the columns in ascending order and their
 * values. 12 bytes an entry and 4 a row; at most 2<sup>31</sup> - 9 entries. Immutable.
 */
public final class CompressedRows {
  private static final int MOST_ENTRIES = Integer.MAX_VALUE - 8;

  private final int columns;
  private final int[] starts;
  private final int[] indices;
  private final double[] values;

  /** Takes arrays that are given away. */
  CompressedRows(int columns, int[] starts, int[] indices, double[] values) {
    this.columns = columns;
    this.starts = starts;
    this.indices = indices;
    this.values = values;
  }

  /** Says what is wrong with an entry that is there twice. */
  @FunctionalInterface
  interface Repeated {
    RuntimeException at(int row, int column);
  }

  /** Gathers entries, which are asked for twice and must be the same both times. */
  static CompressedRows of(
      int rows,
      int columns,
      Consumer<EdgeVisitor> entries,
      Duplicates duplicates,
      Repeated repeated) {
    int[] starts = new int[rows + 1];
    long[] count = new long[1];
    entries.accept(
        (row, column, value) -> {
          starts[row + 1]++;
          count[0]++;
        });
    if (count[0] > MOST_ENTRIES) {
      throw new IllegalStateException(
          "a rank must have %d edges at most, got %d; use more ranks"
              .formatted(MOST_ENTRIES, count[0]));
    }
    for (int row = 0; row < rows; row++) {
      starts[row + 1] += starts[row];
    }
    int[] indices = new int[(int) count[0]];
    double[] values = new double[(int) count[0]];
    int[] next = Arrays.copyOf(starts, rows);
    entries.accept(
        (row, column, value) -> {
          int at = next[row]++;
          indices[at] = column;
          values[at] = value;
        });
    RowOrder.sort(starts, indices, values);
    int kept =
        duplicates == Duplicates.KEEP
            ? indices.length
            : RowOrder.unite(starts, indices, values, duplicates, repeated);
    return kept == indices.length
        ? new CompressedRows(columns, starts, indices, values)
        : new CompressedRows(
            columns, starts, Arrays.copyOf(indices, kept), Arrays.copyOf(values, kept));
  }

  /**
   * The number of rows.
   *
   * @return at least 0
   */
  public int rows() {
    return starts.length - 1;
  }

  /**
   * The number of columns.
   *
   * @return at least 0
   */
  public int columns() {
    return columns;
  }

  /**
   * The number of entries.
   *
   * @return at least 0
   */
  public int entries() {
    return indices.length;
  }

  /**
   * Where a row begins.
   *
   * @param row the row, in [0, rows - 1]
   * @return the position of its first entry
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int start(int row) {
    return starts[row];
  }

  /**
   * Where a row ends.
   *
   * @param row the row, in [0, rows - 1]
   * @return the position behind its last entry
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int end(int row) {
    return starts[row + 1];
  }

  /**
   * The column of an entry.
   *
   * @param entry the position, in [0, entries - 1]
   * @return the column
   * @throws IndexOutOfBoundsException if there is no such entry
   */
  public int column(int entry) {
    return indices[entry];
  }

  /**
   * The value of an entry.
   *
   * @param entry the position, in [0, entries - 1]
   * @return the value
   * @throws IndexOutOfBoundsException if there is no such entry
   */
  public double value(int entry) {
    return values[entry];
  }

  /**
   * Looks for a cell.
   *
   * @param row the row, in [0, rows - 1]
   * @param column any number
   * @return the position of an entry there, -1 if there is none
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int find(int row, int column) {
    return Math.max(-1, Arrays.binarySearch(indices, starts[row], starts[row + 1], column));
  }

  /**
   * Visits all entries, row by row.
   *
   * @param visitor gets row, column and value of each
   */
  public void forEach(EdgeVisitor visitor) {
    for (int row = 0; row < rows(); row++) {
      for (int at = starts[row]; at < starts[row + 1]; at++) {
        visitor.edge(row, indices[at], values[at]);
      }
    }
  }

  /**
   * The transpose, again in compressed rows: the columns of this one.
   *
   * @return a copy
   */
  public CompressedRows transposed() {
    int[] begins = new int[columns + 1];
    for (int column : indices) {
      begins[column + 1]++;
    }
    for (int column = 0; column < columns; column++) {
      begins[column + 1] += begins[column];
    }
    int[] rowsOf = new int[indices.length];
    double[] valuesOf = new double[indices.length];
    int[] next = Arrays.copyOf(begins, columns);
    forEach(
        (row, column, value) -> {
          int at = next[column]++;
          rowsOf[at] = row;
          valuesOf[at] = value;
        });
    return new CompressedRows(rows(), begins, rowsOf, valuesOf);
  }

  /**
   * Where the rows begin, and at the end the number of entries.
   *
   * @return a copy, int32 [rows + 1]
   */
  public int[] rowStarts() {
    return starts.clone();
  }

  /**
   * The columns of all entries.
   *
   * @return a copy, int32 [entries]
   */
  public int[] columnIndices() {
    return indices.clone();
  }

  /**
   * The values of all entries.
   *
   * @return a copy, float64 [entries]
   */
  public double[] values() {
    return values.clone();
  }

  /**
   * Where the rows begin, and at the end the number of entries.
   *
   * @return a read-only view, int32 [rows + 1]
   */
  public IntBuffer rowStartsView() {
    return IntBuffer.wrap(starts).asReadOnlyBuffer();
  }

  /**
   * The columns of all entries.
   *
   * @return a read-only view, int32 [entries]
   */
  public IntBuffer columnIndicesView() {
    return IntBuffer.wrap(indices).asReadOnlyBuffer();
  }

  /**
   * The values of all entries.
   *
   * @return a read-only view, float64 [entries]
   */
  public DoubleBuffer valuesView() {
    return DoubleBuffer.wrap(values).asReadOnlyBuffer();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CompressedRows rows
        && columns == rows.columns
        && Arrays.equals(starts, rows.starts)
        && Arrays.equals(indices, rows.indices)
        && Arrays.equals(values, rows.values);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(starts) + 7 * Arrays.hashCode(indices) + Arrays.hashCode(values);
  }

  @Override
  public String toString() {
    return "CompressedRows[%d x %d with %d entries]".formatted(rows(), columns, entries());
  }
}
