// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.RowSpec;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** The rows of a column in a window, as bytes. Not thread-safe. */
final class WindowColumn {
  private static final VarHandle SHORTS =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.nativeOrder());
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final int number;
  private final RowSpec row;
  private final int rowBytes;
  private final byte[] rows;
  private byte[] gathered = {};
  private @Nullable Object numbers; // an array of the dtype's type

  WindowColumn(int number, RowSpec row, int capacity) {
    this.number = number;
    this.row = row;
    rowBytes = Math.toIntExact(row.bytes());
    rows = new byte[Math.multiplyExact(rowBytes, capacity)];
  }

  /** Returns the memory from a row on. */
  ByteBuffer from(int first) {
    return ByteBuffer.wrap(rows).position(first * rowBytes).slice();
  }

  /** Writes consecutive rows of an order. */
  void put(long @Nullable [] order, int from, int count, SampleWriter into) {
    if (order == null) {
      put(ByteBuffer.wrap(rows, from * rowBytes, count * rowBytes), count, into);
      return;
    }
    if (gathered.length < count * rowBytes) {
      gathered = new byte[count * rowBytes];
    }
    gather(order, from, count);
    put(ByteBuffer.wrap(gathered, 0, count * rowBytes), count, into);
  }

  private void gather(long[] order, int from, int count) {
    byte[] to = gathered;
    switch (rowBytes) {
      case 1 -> {
        for (int i = 0; i < count; i++) {
          to[i] = rows[(int) order[from + i]];
        }
      }
      case Short.BYTES -> {
        for (int i = 0; i < count; i++) {
          short value = (short) SHORTS.get(rows, (int) order[from + i] * Short.BYTES);
          SHORTS.set(to, i * Short.BYTES, value);
        }
      }
      case Integer.BYTES -> {
        for (int i = 0; i < count; i++) {
          int value = (int) INTS.get(rows, (int) order[from + i] * Integer.BYTES);
          INTS.set(to, i * Integer.BYTES, value);
        }
      }
      case Long.BYTES -> {
        for (int i = 0; i < count; i++) {
          long value = (long) LONGS.get(rows, (int) order[from + i] * Long.BYTES);
          LONGS.set(to, i * Long.BYTES, value);
        }
      }
      default -> {
        for (int i = 0; i < count; i++) {
          System.arraycopy(rows, (int) order[from + i] * rowBytes, to, i * rowBytes, rowBytes);
        }
      }
    }
  }

  private void put(ByteBuffer bytes, int count, SampleWriter into) {
    int size = Math.toIntExact(count * row.elements());
    bytes.order(ByteOrder.LITTLE_ENDIAN);
    switch (row.dtype()) {
      case BOOL, UINT8, INT8 ->
          into.put(number, bytes.array(), bytes.arrayOffset() + bytes.position(), size);
      case INT16 -> {
        short[] to = numbers instanceof short[] old && old.length >= size ? old : new short[size];
        bytes.asShortBuffer().get(to, 0, size);
        into.put(number, to, 0, size);
        numbers = to;
      }
      case INT32 -> {
        int[] to = numbers instanceof int[] old && old.length >= size ? old : new int[size];
        bytes.asIntBuffer().get(to, 0, size);
        into.put(number, to, 0, size);
        numbers = to;
      }
      case INT64 -> {
        long[] to = numbers instanceof long[] old && old.length >= size ? old : new long[size];
        bytes.asLongBuffer().get(to, 0, size);
        into.put(number, to, 0, size);
        numbers = to;
      }
      case FLOAT32 -> {
        float[] to = numbers instanceof float[] old && old.length >= size ? old : new float[size];
        bytes.asFloatBuffer().get(to, 0, size);
        into.put(number, to, 0, size);
        numbers = to;
      }
      case FLOAT64 -> {
        double[] to =
            numbers instanceof double[] old && old.length >= size ? old : new double[size];
        bytes.asDoubleBuffer().get(to, 0, size);
        into.put(number, to, 0, size);
        numbers = to;
      }
      default -> throw new AssertionError("no column has rows of " + row.dtype());
    }
  }
}
