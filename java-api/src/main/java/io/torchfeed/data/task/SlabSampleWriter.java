// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.Checks;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A writer of samples into the rows of a slab. */
public final class SlabSampleWriter implements SampleWriter {
  private static final int[] NO_LENGTHS = {};

  private final List<RowSpec> columns;
  private final @Nullable VariableRows[] variable; // by column
  private final VariableRows[] inOrder; // of variable: an iterator would be garbage per sample
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
  private int most; // samples that may be written at once
  private long seed;
  private long index;
  private long epoch;

  public SlabSampleWriter(BatchLayout layout) {
    columns = layout.columns();
    variable = new VariableRows[columns.size()];
    List<VariableRows> list = new ArrayList<>();
    for (VariableLength rule : layout.variable()) {
      int lengthsColumn = columns.size() + list.size();
      VariableRows rows = new VariableRows(rule, columns.get(rule.column()), lengthsColumn);
      variable[rule.column()] = rows;
      list.add(rows);
    }
    inOrder = list.toArray(VariableRows[]::new);
    elements = columns.stream().mapToInt(row -> (int) row.elements()).toArray();
    written = new int[elements.length];
  }

  /** Begins a batch whose samples are written row by row. */
  public void beginBatch(Slab into) {
    for (VariableRows rows : inOrder) {
      rows.beginBatch(into.rows());
    }
  }

  /**
   * Ends a batch of the given number of rows; returns its length in each column of variable length.
   */
  public int[] endBatch(Slab into, int rows) {
    if (inOrder.length == 0) {
      return NO_LENGTHS;
    }
    return Arrays.stream(inOrder).mapToInt(column -> column.endBatch(into, rows)).toArray();
  }

  /** Begins a sample in a row of a slab. */
  public void begin(Slab into, int row, long seed, long epoch, long index) {
    begin(into, row, 1, seed, epoch, index);
  }

  /** Begins several samples, of no variable length, from a row of a slab on. */
  public void begin(Slab into, int row, int most, long seed, long epoch, long index) {
    slab = into;
    owner = Thread.currentThread();
    this.row = row;
    this.most = most;
    this.seed = seed;
    this.index = index;
    this.epoch = epoch;
    Arrays.fill(written, 0);
    random.begin(seed, epoch, index);
  }

  /** Ends the sample; nothing can be written after this call. */
  public void abandon() {
    owner = null;
    slab = null;
    random.end();
  }

  /**
   * Ends the sample.
   *
   * @throws IllegalStateException if a column is not full
   */
  public void end() {
    end(1);
  }

  /**
   * Ends some samples.
   *
   * @throws IllegalStateException if a column has not as many rows
   */
  public void end(int samples) {
    abandon();
    for (int column = 0; column < elements.length; column++) {
      VariableRows rows = variable[column];
      if (rows != null) {
        rows.requireWhole(written[column]);
      } else if (written[column] != samples * elements[column]) {
        throw new IllegalStateException(
            "column %d takes %d elements of %s (%s), got %d"
                .formatted(
                    column,
                    samples * elements[column],
                    samples == 1 ? "a sample" : samples + " samples",
                    columns.get(column),
                    written[column]));
      }
    }
    for (VariableRows rows : inOrder) {
      rows.endSample(row, written[rows.column()]);
    }
  }

  @Override
  public long index() {
    requireOpen();
    return index;
  }

  @Override
  public long epoch() {
    requireOpen();
    return epoch;
  }

  @Override
  public RandomGenerator random() {
    requireOpen();
    return random;
  }

  private Slab requireOpen() {
    Slab into = slab;
    if (into == null || owner != Thread.currentThread()) {
      throw new IllegalStateException(
          "a SampleWriter is valid only in its call and thread, not after the sample or elsewhere");
    }
    return into;
  }

  /**
   * Returns how many of the next elements of a column are written: all, unless its rule truncates.
   */
  private int fitting(int column, int count) {
    Checks.requireIndex("column", column, elements.length);
    VariableRows rows = variable[column];
    if (rows != null && count >= 0) {
      return rows.fitting(count, written[column]);
    }
    if (count < 0 || count > most * elements[column] - written[column]) {
      throw new IllegalArgumentException(
          "column %d takes %d elements of %s (%s), got %d after %d"
              .formatted(
                  column,
                  most * elements[column],
                  most == 1 ? "a sample" : most + " samples",
                  columns.get(column),
                  count,
                  written[column]));
    }
    return count;
  }

  /**
   * Returns the offset of the next elements of a column, from the start of the column in the slab.
   */
  private int place(int column) {
    VariableRows rows = variable[column];
    return written[column] + (rows == null ? row * elements[column] : rows.start(row));
  }

  @Override
  public void put(int column, byte[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  @Override
  public void putByte(int column, byte value) {
    requireOpen(); // before the write to the array that the owner of the sample reads
    oneByte[0] = value;
    put(column, oneByte, 0, 1);
  }

  @Override
  public void put(int column, short[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  @Override
  public void putShort(int column, short value) {
    requireOpen(); // before the write to the array that the owner of the sample reads
    oneShort[0] = value;
    put(column, oneShort, 0, 1);
  }

  @Override
  public void put(int column, int[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  @Override
  public void putInt(int column, int value) {
    requireOpen(); // before the write to the array that the owner of the sample reads
    oneInt[0] = value;
    put(column, oneInt, 0, 1);
  }

  @Override
  public void put(int column, long[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  @Override
  public void putLong(int column, long value) {
    requireOpen(); // before the write to the array that the owner of the sample reads
    oneLong[0] = value;
    put(column, oneLong, 0, 1);
  }

  @Override
  public void put(int column, float[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  @Override
  public void putFloat(int column, float value) {
    requireOpen(); // before the write to the array that the owner of the sample reads
    oneFloat[0] = value;
    put(column, oneFloat, 0, 1);
  }

  @Override
  public void put(int column, double[] values, int from, int count) {
    Slab into = requireOpen();
    int fitting = fitting(column, count);
    into.put(column, place(column), values, from, fitting);
    written[column] += fitting;
  }

  @Override
  public void putDouble(int column, double value) {
    requireOpen(); // before the write to the array that the owner of the sample reads
    oneDouble[0] = value;
    put(column, oneDouble, 0, 1);
  }

  @Override
  public void putImage(int column, byte[] encoded, ImagePlan plan) {
    Slab into = requireOpen();
    int count = wholeRow(column);
    requireNonNull(plan, "plan");
    plan.write(encoded, into, column, row, seed, epoch, index);
    written[column] += count;
  }

  @Override
  public void putImage(int column, Path file, ImagePlan plan) {
    Slab into = requireOpen();
    int count = wholeRow(column);
    requireNonNull(plan, "plan");
    plan.write(file, into, column, row, seed, epoch, index);
    written[column] += count;
  }

  /** Returns the elements of a column into which nothing was written yet. */
  private int wholeRow(int column) {
    Checks.requireIndex("column", column, elements.length);
    if (variable[column] != null) {
      throw new IllegalArgumentException(
          "column %d is of variable length, which an image cannot be".formatted(column));
    }
    if (most > 1) {
      throw new IllegalArgumentException(
          "column %d takes rows of up to %d samples at once, which an image is not"
              .formatted(column, most));
    }
    return fitting(column, elements[column]);
  }
}
