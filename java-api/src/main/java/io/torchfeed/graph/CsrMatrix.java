// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * A sparse matrix in compressed sparse row (CSR) format: for each row, the columns in ascending
 * order and their values. Takes 12 bytes per entry and 4 per row; has at most 2<sup>31</sup> - 9
 * entries. Immutable.
 */
public final class CsrMatrix {
  private static final int MAX_ENTRIES = Integer.MAX_VALUE - 8;

  private final int columns;
  private final int[] starts;
  private final int[] indices;
  private final double[] values;

  /** Takes ownership of the arrays. */
  CsrMatrix(int columns, int[] starts, int[] indices, double[] values) {
    this.columns = columns;
    this.starts = starts;
    this.indices = indices;
    this.values = values;
  }

  /** Creates the exception for an entry that occurs twice. */
  @FunctionalInterface
  interface Repeated {
    RuntimeException at(int row, int column);
  }

  /** Builds the matrix from entries, which are visited twice and must be the same both times. */
  static CsrMatrix of(
      int rows,
      int columns,
      Consumer<Edges.EdgeVisitor> entries,
      EdgeLoader.DuplicatePolicy duplicates,
      Repeated repeated) {
    int[] starts = new int[rows + 1];
    long[] count = new long[1];
    entries.accept(
        (row, column, value) -> {
          starts[row + 1]++;
          count[0]++;
        });
    if (count[0] > MAX_ENTRIES) {
      throw new IllegalStateException(
          "a rank must have at most %d edges, got %d; use more ranks"
              .formatted(MAX_ENTRIES, count[0]));
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
        duplicates == EdgeLoader.DuplicatePolicy.KEEP
            ? indices.length
            : RowOrder.unite(starts, indices, values, duplicates, repeated);
    return kept == indices.length
        ? new CsrMatrix(columns, starts, indices, values)
        : new CsrMatrix(columns, starts, Arrays.copyOf(indices, kept), Arrays.copyOf(values, kept));
  }

  /**
   * Returns the number of rows.
   *
   * @return the number, at least 0
   */
  public int rows() {
    return starts.length - 1;
  }

  /**
   * Returns the number of columns.
   *
   * @return the number, at least 0
   */
  public int columns() {
    return columns;
  }

  /**
   * Returns the number of entries.
   *
   * @return the number, at least 0
   */
  public int entries() {
    return indices.length;
  }

  /**
   * Returns the position at which a row begins.
   *
   * @param row the row, in [0, rows - 1]
   * @return the position of its first entry
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int start(int row) {
    return starts[Checks.requireIndex("row", row, rows())];
  }

  /**
   * Returns the position at which a row ends.
   *
   * @param row the row, in [0, rows - 1]
   * @return the position after its last entry
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int end(int row) {
    return starts[Checks.requireIndex("row", row, rows()) + 1];
  }

  /**
   * Returns the column of an entry.
   *
   * @param entry the position, in [0, entries - 1]
   * @return the column
   * @throws IndexOutOfBoundsException if there is no such entry
   */
  public int column(int entry) {
    return indices[entry];
  }

  /**
   * Returns the value of an entry.
   *
   * @param entry the position, in [0, entries - 1]
   * @return the value
   * @throws IndexOutOfBoundsException if there is no such entry
   */
  public double value(int entry) {
    return values[entry];
  }

  /**
   * Finds the entry of a cell.
   *
   * @param row the row, in [0, rows - 1]
   * @param column any number
   * @return the position of an entry of this cell, -1 if there is none
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int find(int row, int column) {
    return Math.max(-1, Arrays.binarySearch(indices, start(row), end(row), column));
  }

  /**
   * Visits all entries, row by row.
   *
   * @param visitor receives the row, column and value of each entry
   */
  public void forEach(Edges.EdgeVisitor visitor) {
    requireNonNull(visitor, "visitor");
    for (int row = 0; row < rows(); row++) {
      for (int at = starts[row]; at < starts[row + 1]; at++) {
        visitor.edge(row, indices[at], values[at]);
      }
    }
  }

  /**
   * Returns the transpose, also in compressed rows: its rows are the columns of this matrix.
   *
   * @return a copy
   */
  public CsrMatrix transposed() {
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
    return new CsrMatrix(rows(), begins, rowsOf, valuesOf);
  }

  /**
   * Returns the position at which each row begins, followed by the number of entries.
   *
   * @return a copy, int32 [rows + 1]
   */
  public int[] rowStarts() {
    return starts.clone();
  }

  /**
   * Returns the columns of all entries.
   *
   * @return a copy, int32 [entries]
   */
  public int[] columnIndices() {
    return indices.clone();
  }

  /**
   * Returns the values of all entries.
   *
   * @return a copy, float64 [entries]
   */
  public double[] values() {
    return values.clone();
  }

  /**
   * Returns the position at which each row begins, followed by the number of entries.
   *
   * @return a read-only view, int32 [rows + 1]
   */
  public IntBuffer rowStartsView() {
    return IntBuffer.wrap(starts).asReadOnlyBuffer();
  }

  /**
   * Returns the columns of all entries.
   *
   * @return a read-only view, int32 [entries]
   */
  public IntBuffer columnIndicesView() {
    return IntBuffer.wrap(indices).asReadOnlyBuffer();
  }

  /**
   * Returns the values of all entries.
   *
   * @return a read-only view, float64 [entries]
   */
  public DoubleBuffer valuesView() {
    return DoubleBuffer.wrap(values).asReadOnlyBuffer();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CsrMatrix rows
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
    return "CsrMatrix[%d x %d with %d entries]".formatted(rows(), columns, entries());
  }
}
