// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import static java.util.Objects.requireNonNull;

import io.torchfeed.image.ImageException;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.Slab;
import io.torchfeed.spark.RowColumn;
import java.nio.ByteBuffer;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The memory of a column in a row; converts numbers. Not thread-safe. */
final class ElementWriter implements AutoCloseable {
  private final DType dtype;
  private final int elements;
  private final ByteBuffer into;
  private final @Nullable ImagePlan plan;
  private final @Nullable Slab slab;

  private ElementWriter(
      DType dtype, int elements, ByteBuffer into, @Nullable ImagePlan plan, @Nullable Slab slab) {
    this.dtype = dtype;
    this.elements = elements;
    this.into = into;
    this.plan = plan;
    this.slab = slab;
  }

  static ElementWriter of(RowColumn column, ByteBuffer into) {
    int elements = (int) column.row().elements();
    if (column.plans().isEmpty()) {
      return new ElementWriter(column.row().dtype(), elements, into, null, null);
    }
    ImagePlan plan = column.plans().get().get();
    Slab slab = Slab.allocate(List.of(plan.row()), 1);
    return new ElementWriter(column.row().dtype(), elements, into, plan, slab);
  }

  int elements() {
    return elements;
  }

  /** Sets all elements to 0. */
  void clear() {
    for (int i = 0; i < into.capacity(); i++) {
      into.put(i, (byte) 0);
    }
  }

  /** Writes an integer; returns the problem if it does not fit the dtype. */
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
      default -> throw new AssertionError("RowColumn.of refuses " + dtype);
    }
    return null;
  }

  private static String notIn(long least, long greatest, long value) {
    return "the value must be in [%d, %d], got %d".formatted(least, greatest, value);
  }

  /** Writes a number in floating point; {@link ColumnSource} allows it for such dtypes only. */
  void put(int element, double value) {
    if (dtype == DType.FLOAT32) {
      into.putFloat(element * Float.BYTES, (float) value);
    } else {
      into.putDouble(element * Double.BYTES, value);
    }
  }

  /** Writes all elements. */
  void put(float[] values) {
    if (dtype == DType.FLOAT32) {
      into.asFloatBuffer().put(values);
    } else {
      for (int i = 0; i < values.length; i++) {
        into.putDouble(i * Double.BYTES, values[i]);
      }
    }
  }

  /** Writes all elements. */
  void put(double[] values) {
    if (dtype == DType.FLOAT64) {
      into.asDoubleBuffer().put(values);
    } else {
      for (int i = 0; i < values.length; i++) {
        into.putFloat(i * Float.BYTES, (float) values[i]);
      }
    }
  }

  /** Writes the bytes of all elements, or an image; returns the problem if they do not fit. */
  @Nullable String put(byte[] bytes) {
    if (plan != null) {
      return decode(bytes, requireNonNull(slab), plan);
    }
    if (bytes.length != into.capacity()) {
      return "the value must have %d bytes, got %d".formatted(into.capacity(), bytes.length);
    }
    into.put(0, bytes);
    return null;
  }

  private @Nullable String decode(byte[] bytes, Slab slab, ImagePlan plan) {
    try {
      plan.write(bytes, slab, 0, 0, 0, 0, 0);
    } catch (ImageException e) {
      return String.valueOf(e.getMessage());
    }
    try (Tensor image = slab.view(0, 1);
        BytePointer pixels = new BytePointer(image.data_ptr())) {
      pixels.get(into.array(), into.arrayOffset(), into.capacity());
    }
    return null;
  }

  @Override
  public void close() {
    if (slab != null) {
      slab.close();
    }
  }
}
