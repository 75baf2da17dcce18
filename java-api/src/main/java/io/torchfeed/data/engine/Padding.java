// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.VariableLength;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.Arrays;

/** An array that repeats one number for each element of a row, to pad the rows of one column. */
final class Padding {
  private final Object elements; // an array of the column's dtype

  private Padding(Object elements) {
    this.elements = elements;
  }

  static Padding of(RowSpec row, double value) {
    int count = row.elements();
    return new Padding(
        switch (row.dtype()) {
          case BOOL, UINT8, INT8 -> {
            byte[] bytes = new byte[count];
            Arrays.fill(bytes, (byte) (int) value);
            yield bytes;
          }
          case INT16 -> {
            short[] shorts = new short[count];
            Arrays.fill(shorts, (short) value);
            yield shorts;
          }
          case INT32 -> {
            int[] ints = new int[count];
            Arrays.fill(ints, (int) value);
            yield ints;
          }
          case INT64 -> {
            long[] longs = new long[count];
            Arrays.fill(longs, (long) value);
            yield longs;
          }
          case FLOAT32 -> {
            float[] floats = new float[count];
            Arrays.fill(floats, (float) value);
            yield floats;
          }
          case FLOAT64 -> {
            double[] doubles = new double[count];
            Arrays.fill(doubles, value);
            yield doubles;
          }
        });
  }

  /**
   * Requires that the dtype of a column can hold its padding.
   *
   * @throws IllegalArgumentException if it does not
   */
  static void require(VariableLength length, RowSpec row) {
    double value = length.padding();
    boolean holds =
        switch (row.dtype()) {
          case BOOL -> value == 0 || value == 1;
          case UINT8 -> value == ((int) value & 0xff);
          case INT8 -> value == (byte) value;
          case INT16 -> value == (short) value;
          case INT32 -> value == (int) value;
          case INT64 -> value == (long) value && value < 0x1p63;
          case FLOAT32, FLOAT64 -> true;
        };
    if (!holds) {
      throw new IllegalArgumentException(
          "padding must be a number that column %d (%s) holds, got %s"
              .formatted(length.column(), row, value));
    }
  }

  /** Fills elements of a column, at most the elements of one row. */
  void put(Slab slab, int column, int element, int count) {
    if (elements instanceof byte[] bytes) {
      slab.put(column, element, bytes, 0, count);
    } else if (elements instanceof short[] shorts) {
      slab.put(column, element, shorts, 0, count);
    } else if (elements instanceof int[] ints) {
      slab.put(column, element, ints, 0, count);
    } else if (elements instanceof long[] longs) {
      slab.put(column, element, longs, 0, count);
    } else if (elements instanceof float[] floats) {
      slab.put(column, element, floats, 0, count);
    } else {
      slab.put(column, element, (double[]) elements, 0, count);
    }
  }

  /** Returns a value for the rows of a mask. */
  static Padding ofMask(long length, boolean value) {
    return of(RowSpec.of(DType.BOOL, length), value ? 1 : 0);
  }
}
