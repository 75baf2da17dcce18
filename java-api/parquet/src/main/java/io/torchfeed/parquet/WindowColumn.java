// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ColumnSource.Filler;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a column in a window, in an array of the dtype's type: the decoded one if a window is
 * one batch and its values are the rows, otherwise memory of its own. Not thread-safe.
 */
final class WindowColumn implements AutoCloseable {
  private final int number;
  private final DType dtype;
  private final int elements; // of a row
  private final int rowBytes;
  private final int windowRows;
  private final int batchRows;
  private final Filler filler;
  private Object rows = new byte[0];
  private @Nullable Object own;
  private @Nullable ByteBuffer filled; // a batch
  private @Nullable Object shuffled;

  WindowColumn(int number, ColumnSource source, int windowRows, int batchRows) {
    this.number = number;
    dtype = source.row().dtype();
    elements = Math.toIntExact(source.row().elements());
    rowBytes = Math.toIntExact(source.row().bytes());
    this.windowRows = windowRows;
    this.batchRows = batchRows;
    filler = source.filler();
  }

  /** Takes the rows of a batch. */
  void fill(List<LeafBatch> leaves, int first, int count, BatchPlace place) {
    Object whole = filler.whole(leaves, count);
    if (whole != null && windowRows == batchRows) {
      rows = whole;
      return;
    }
    own = own == null ? array(windowRows) : own;
    rows = own;
    if (whole != null) {
      System.arraycopy(whole, 0, own, first * elements, count * elements);
      return;
    }
    if (filled == null) {
      filled = ByteBuffer.allocate(batchRows * rowBytes).order(ByteOrder.LITTLE_ENDIAN);
    }
    filler.fill(leaves, count, filled, place);
    read(filled.clear(), own, first * elements, count * elements);
  }

  /**
   * Puts the rows into an order, all at once: a column is in the caches then, and no longer when
   * its rows are written.
   */
  void shuffle(long[] order, int count) {
    shuffled = shuffled == null ? array(windowRows) : shuffled;
    gather(order, count, shuffled);
    rows = shuffled;
  }

  /** Writes consecutive rows. */
  void put(int from, int count, SampleWriter into) {
    put(rows, from * elements, count * elements, into);
  }

  private void gather(long[] order, int count, Object to) {
    if (elements > 1) {
      for (int i = 0; i < count; i++) {
        System.arraycopy(rows, (int) order[i] * elements, to, i * elements, elements);
      }
    } else if (rows instanceof float[] floats) {
      for (int i = 0; i < count; i++) {
        ((float[]) to)[i] = floats[(int) order[i]];
      }
    } else if (rows instanceof long[] longs) {
      for (int i = 0; i < count; i++) {
        ((long[]) to)[i] = longs[(int) order[i]];
      }
    } else if (rows instanceof double[] doubles) {
      for (int i = 0; i < count; i++) {
        ((double[]) to)[i] = doubles[(int) order[i]];
      }
    } else if (rows instanceof int[] ints) {
      for (int i = 0; i < count; i++) {
        ((int[]) to)[i] = ints[(int) order[i]];
      }
    } else if (rows instanceof short[] shorts) {
      for (int i = 0; i < count; i++) {
        ((short[]) to)[i] = shorts[(int) order[i]];
      }
    } else {
      for (int i = 0; i < count; i++) {
        ((byte[]) to)[i] = ((byte[]) rows)[(int) order[i]];
      }
    }
  }

  private Object array(int count) {
    int size = count * elements;
    return switch (dtype) {
      case BOOL, UINT8, INT8 -> new byte[size];
      case INT16 -> new short[size];
      case INT32 -> new int[size];
      case INT64 -> new long[size];
      case FLOAT32 -> new float[size];
      case FLOAT64 -> new double[size];
      default -> throw new AssertionError("no column has rows of " + dtype);
    };
  }

  private static void read(ByteBuffer from, Object to, int first, int count) {
    switch (to) {
      case short[] shorts -> from.asShortBuffer().get(shorts, first, count);
      case int[] ints -> from.asIntBuffer().get(ints, first, count);
      case long[] longs -> from.asLongBuffer().get(longs, first, count);
      case float[] floats -> from.asFloatBuffer().get(floats, first, count);
      case double[] doubles -> from.asDoubleBuffer().get(doubles, first, count);
      default -> from.get((byte[]) to, first, count);
    }
  }

  private void put(Object from, int first, int count, SampleWriter into) {
    switch (from) {
      case short[] shorts -> into.put(number, shorts, first, count);
      case int[] ints -> into.put(number, ints, first, count);
      case long[] longs -> into.put(number, longs, first, count);
      case float[] floats -> into.put(number, floats, first, count);
      case double[] doubles -> into.put(number, doubles, first, count);
      default -> into.put(number, (byte[]) from, first, count);
    }
  }

  @Override
  public void close() {
    filler.close();
  }
}
