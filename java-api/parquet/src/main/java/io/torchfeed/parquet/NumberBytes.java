// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.memory.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** Writes numbers as elements of a dtype, little-endian. Not thread-safe. */
final class NumberBytes {
  private final DType dtype;
  private final ByteBuffer into;

  /** Writes to the memory of a buffer, whatever its position and limit. */
  NumberBytes(DType dtype, ByteBuffer into) {
    this.dtype = dtype;
    this.into = into.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN);
  }

  static boolean isFloating(DType dtype) {
    return dtype == DType.FLOAT32 || dtype == DType.FLOAT64;
  }

  /** Returns whether an array has the elements of a dtype of numbers as they are. */
  static boolean isOf(DType dtype, Object values) {
    return switch (dtype) {
      case INT32 -> values instanceof int[];
      case INT64 -> values instanceof long[];
      case FLOAT32 -> values instanceof float[];
      case FLOAT64 -> values instanceof double[];
      default -> false;
    };
  }

  /**
   * Requires a number of a dtype.
   *
   * @throws IllegalArgumentException if it is another one
   */
  static void requireFits(String column, DType dtype, double number) {
    if (isFloating(dtype)) {
      return;
    }
    String problem =
        number == Math.rint(number) && Math.abs(number) < 0x1p63
            ? new NumberBytes(dtype, ByteBuffer.allocate(Long.BYTES)).put(0, (long) number)
            : "the value must be a whole number of 64 bits, got " + number;
    if (problem != null) {
      throw new IllegalArgumentException("column %s: %s".formatted(column, problem));
    }
  }

  /** Writes an integer; returns the problem if it does not fit. */
  @Nullable String put(int element, long value) {
    switch (dtype) {
      case BOOL -> {
        if (value != 0 && value != 1) {
          return notIn(0, 1, value);
        }
        into.put(element, (byte) value);
      }
      case UINT8 -> {
        if (value < 0 || value > 255) {
          return notIn(0, 255, value);
        }
        into.put(element, (byte) value);
      }
      case INT8 -> {
        if (value != (byte) value) {
          return notIn(Byte.MIN_VALUE, Byte.MAX_VALUE, value);
        }
        into.put(element, (byte) value);
      }
      case INT16 -> {
        if (value != (short) value) {
          return notIn(Short.MIN_VALUE, Short.MAX_VALUE, value);
        }
        into.putShort(element * Short.BYTES, (short) value);
      }
      case INT32 -> {
        if (value != (int) value) {
          return notIn(Integer.MIN_VALUE, Integer.MAX_VALUE, value);
        }
        into.putInt(element * Integer.BYTES, (int) value);
      }
      case INT64 -> into.putLong(element * Long.BYTES, value);
      case FLOAT32 -> into.putFloat(element * Float.BYTES, (float) value);
      case FLOAT64 -> into.putDouble(element * Double.BYTES, (double) value);
      default -> throw new AssertionError("ParquetColumn.of refuses " + dtype);
    }
    return null;
  }

  private static String notIn(long least, long greatest, long value) {
    return "the value must be in [%d, %d], got %d".formatted(least, greatest, value);
  }

  /** Writes a number in floating point; the plan allows it for such dtypes only. */
  void put(int element, double value) {
    if (dtype == DType.FLOAT32) {
      into.putFloat(element * Float.BYTES, (float) value);
    } else {
      into.putDouble(element * Double.BYTES, value);
    }
  }

  /** Writes the value in place of a null, which fits. */
  void putMissing(int element, double value) {
    if (isFloating(dtype)) {
      put(element, value);
    } else {
      put(element, (long) value);
    }
  }

  /** Writes bytes. */
  void put(int offset, byte[] bytes, int from, int count) {
    into.put(offset, bytes, from, count);
  }

  /** Writes consecutive elements from the first on, if their dtype is the one of the array. */
  boolean putAll(Object values, int count) {
    if (values instanceof float[] floats) {
      if (dtype == DType.FLOAT32) {
        into.asFloatBuffer().put(floats, 0, count);
        return true;
      }
      return false;
    } else if (values instanceof double[] doubles) {
      if (dtype == DType.FLOAT64) {
        into.asDoubleBuffer().put(doubles, 0, count);
        return true;
      } else if (dtype == DType.FLOAT32) {
        for (int i = 0; i < count; i++) {
          into.putFloat(i * Float.BYTES, (float) doubles[i]);
        }
        return true;
      }
      return false;
    } else if (values instanceof int[] ints) {
      return putAll(ints, count);
    } else if (values instanceof long[] longs && dtype == DType.INT64) {
      into.asLongBuffer().put(longs, 0, count);
      return true;
    }
    return false;
  }

  private boolean putAll(int[] ints, int count) {
    if (dtype == DType.INT32) {
      into.asIntBuffer().put(ints, 0, count);
    } else if (dtype == DType.INT64) {
      for (int i = 0; i < count; i++) {
        into.putLong(i * Long.BYTES, ints[i]);
      }
    } else if (dtype == DType.FLOAT32) {
      for (int i = 0; i < count; i++) {
        into.putFloat(i * Float.BYTES, (float) ints[i]);
      }
    } else {
      return false;
    }
    return true;
  }
}
