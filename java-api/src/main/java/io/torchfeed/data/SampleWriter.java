// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Takes one sample, column by column, into the memory of its batch.
 *
 * <p>Each put goes on where the last one into the same column ended; at the end of {@link
 * Dataset#read} every column must be full, except those of {@link VariableLength}. A writer is
 * valid inside of that call and in its thread only; any other use is an {@link
 * IllegalStateException} and writes nothing.
 */
public final class SampleWriter {
  private static final int[] NO_LENGTHS = {};

  private final List<RowSpec> columns;
  private final @Nullable VariableRows[] variable; // by column
  private final List<VariableRows> variableInOrder;
  private final int[] elements; // of a row, by column
  private final int[] written;
  private final SampleRandom random = new SampleRandom();
  private final byte[] oneByte = new byte[1];
  private final short[] oneShort = new short[1];
  private final int[] oneInt = new int[1];
  private final long[] oneLong = new long[1];
  private final float[] oneFloat = new float[1];
  private final double[] oneDouble = new double[1];

  private @Nullable Slab slab;
  private @Nullable Thread owner;
  private int row;
  private long index;
  private long epoch;

  SampleWriter(BatchLayout layout) {
    columns = layout.columns();
    variable = new VariableRows[columns.size()];
    variableInOrder = new ArrayList<>();
    for (VariableLength rule : layout.variable()) {
      int lengthsColumn = columns.size() + variableInOrder.size();
      VariableRows rows = new VariableRows(rule, columns.get(rule.column()), lengthsColumn);
      variable[rule.column()] = rows;
      variableInOrder.add(rows);
    }
    elements = columns.stream().mapToInt(RowSpec::elements).toArray();
    written = new int[elements.length];
  }

  /** Begins a batch, whose samples are written row by row. */
  void beginBatch(Slab into) {
    for (int i = 0; i < variableInOrder.size(); i++) {
      variableInOrder.get(i).beginBatch(into.rows());
    }
  }

  /** Ends a batch of some rows; gives its length in each column of variable length. */
  int[] endBatch(Slab into, int rows) {
    if (variableInOrder.isEmpty()) {
      return NO_LENGTHS;
    }
    return variableInOrder.stream().mapToInt(column -> column.endBatch(into, rows)).toArray();
  }

  /** Begins a sample in a row of a slab. */
  void begin(Slab into, int row, long seed, long epoch, long index) {
    slab = into;
    owner = Thread.currentThread();
    this.row = row;
    this.index = index;
    this.epoch = epoch;
    Arrays.fill(written, 0);
    random.begin(seed, epoch, index);
  }

  /** Ends the sample; nothing is written after it. */
  void abandon() {
    owner = null;
    slab = null;
  }

  /**
   * Ends the sample.
   *
   * @throws IllegalStateException if a column is not full
   */
  void end() {
    abandon();
    for (int column = 0; column < elements.length; column++) {
      VariableRows rows = variable[column];
      if (rows != null) {
        rows.requireWhole(written[column]);
      } else if (written[column] != elements[column]) {
        throw new IllegalStateException(
            "column %d takes %d elements of a sample (%s), got %d"
                .formatted(column, elements[column], columns.get(column), written[column]));
      }
    }
    for (VariableRows rows : variableInOrder) {
      rows.endSample(row, written[rows.column()]);
    }
  }

  /**
   * The sample that is to be written.
   *
   * @return its dataset index
   */
  public long index() {
    return index;
  }

  /**
   * The epoch that it is for.
   *
   * @return the number of the epoch, at least 0
   */
  public long epoch() {
    return epoch;
  }

  /**
   * Random numbers for this sample, for example to augment it: the same for the same seed of the
   * loader, epoch and index, whatever the workers do.
   *
   * @return a generator that is valid in this call only
   */
  public RandomGenerator random() {
    return random;
  }

  private Slab requireOpen() {
    Slab into = slab;
    if (into == null || owner != Thread.currentThread()) {
      throw new IllegalStateException(
          "a SampleWriter is valid in its call and thread only, not after the sample or elsewhere");
    }
    return into;
  }

  /** How many of the next elements of a column are taken: all, unless a rule says otherwise. */
  private int fitting(int column, int count) {
    Objects.checkIndex(column, elements.length);
    VariableRows rows = variable[column];
    if (rows != null && count >= 0) {
      return rows.fitting(count, written[column]);
    }
    if (count < 0 || count > elements[column] - written[column]) {
      throw new IllegalArgumentException(
          "column %d takes %d elements of a sample (%s), got %d after %d"
              .formatted(column, elements[column], columns.get(column), count, written[column]));
    }
    return count;
  }

  /** Where the next elements of a column go, from the start of the column in the slab. */
  private int place(int column) {
    VariableRows rows = variable[column];
    return written[column] + (rows == null ? row * elements[column] : rows.start(row));
  }

  /**
   * Writes the next elements of a column of dtype bool, uint8 or int8.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   */
  public void put(int column, byte[] values) {
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype bool, uint8 or int8.
   *
   * @param column the number of the column
   * @param values holds the elements from {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  public void put(int column, byte[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  /**
   * Writes the next element of a column of dtype bool, uint8 or int8.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  public void putByte(int column, byte value) {
    oneByte[0] = value;
    put(column, oneByte, 0, 1);
  }

  /**
   * Writes the next elements of a column of dtype int16.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   */
  public void put(int column, short[] values) {
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype int16.
   *
   * @param column the number of the column
   * @param values holds the elements from {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  public void put(int column, short[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  /**
   * Writes the next element of a column of dtype int16.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  public void putShort(int column, short value) {
    oneShort[0] = value;
    put(column, oneShort, 0, 1);
  }

  /**
   * Writes the next elements of a column of dtype int32.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   */
  public void put(int column, int[] values) {
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype int32.
   *
   * @param column the number of the column
   * @param values holds the elements from {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  public void put(int column, int[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  /**
   * Writes the next element of a column of dtype int32.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  public void putInt(int column, int value) {
    oneInt[0] = value;
    put(column, oneInt, 0, 1);
  }

  /**
   * Writes the next elements of a column of dtype int64.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   */
  public void put(int column, long[] values) {
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype int64.
   *
   * @param column the number of the column
   * @param values holds the elements from {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  public void put(int column, long[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  /**
   * Writes the next element of a column of dtype int64.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  public void putLong(int column, long value) {
    oneLong[0] = value;
    put(column, oneLong, 0, 1);
  }

  /**
   * Writes the next elements of a column of dtype float32.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   */
  public void put(int column, float[] values) {
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype float32.
   *
   * @param column the number of the column
   * @param values holds the elements from {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  public void put(int column, float[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  /**
   * Writes the next element of a column of dtype float32.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  public void putFloat(int column, float value) {
    oneFloat[0] = value;
    put(column, oneFloat, 0, 1);
  }

  /**
   * Writes the next elements of a column of dtype float64.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   */
  public void put(int column, double[] values) {
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype float64.
   *
   * @param column the number of the column
   * @param values holds the elements from {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IllegalArgumentException if the column has another dtype, or fewer elements are left of
   *     the sample
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  public void put(int column, double[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  /**
   * Writes the next element of a column of dtype float64.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  public void putDouble(int column, double value) {
    oneDouble[0] = value;
    put(column, oneDouble, 0, 1);
  }
}
