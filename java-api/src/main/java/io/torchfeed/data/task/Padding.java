// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.VariableLength;
import io.torchfeed.data.VariableLength.Form;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** An array that repeats one number for each element of a row, to pad the rows of one column. */
final class Padding {
  private static final Set<DType> SMALL_FLOATS =
      EnumSet.of(
          DType.FLOAT8_E4M3FN,
          DType.FLOAT8_E4M3FNUZ,
          DType.FLOAT8_E5M2,
          DType.FLOAT8_E5M2FNUZ,
          DType.FLOAT8_E8M0FNU,
          DType.FLOAT16,
          DType.BFLOAT16);

  private final Object elements; // an array of the column's dtype

  private Padding(Object elements) {
    this.elements = elements;
  }

  static Padding of(RowSpec row, double value) {
    int count = (int) row.elements();
    return new Padding(
        switch (row.dtype()) {
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
          default -> repeated(row.dtype().bytes(), bits(row.dtype(), value), count);
        });
  }

  private static Object repeated(int bytes, long bits, int count) {
    return switch (bytes) {
      case 1 -> {
        byte[] array = new byte[count];
        Arrays.fill(array, (byte) bits);
        yield array;
      }
      case 2 -> {
        short[] array = new short[count];
        Arrays.fill(array, (short) bits);
        yield array;
      }
      case 4 -> {
        int[] array = new int[count];
        Arrays.fill(array, (int) bits);
        yield array;
      }
      default -> {
        long[] array = new long[count];
        Arrays.fill(array, bits);
        yield array;
      }
    };
  }

  /** Returns the bits of a number in an integer dtype or a small float dtype. */
  private static long bits(DType dtype, double value) {
    if (!SMALL_FLOATS.contains(dtype)) {
      return new BigDecimal(value).longValue(); // the lower 64 bits, also of a uint64
    }
    try (PointerScope scope = new PointerScope()) {
      return full(dtype, value)
          .view(dtype.bytes() == 1 ? ScalarType.Char : ScalarType.Short)
          .item_short();
    }
  }

  private static double rounded(DType dtype, double value) {
    try (PointerScope scope = new PointerScope()) {
      return full(dtype, value).to(ScalarType.Double).item_double();
    }
  }

  private static Tensor full(DType dtype, double value) {
    return torch.full(new long[] {1}, new Scalar(value), new TensorOptions(dtype.scalarType()));
  }

  /**
   * Requires that the dtype of a column can hold its padding; a float of 8 or 16 bits without
   * rounding.
   *
   * @throws IllegalArgumentException if it does not
   */
  static void require(VariableLength length, RowSpec row) {
    if (length.form() != Form.OFFSETS && !holds(row.dtype(), length.padding())) {
      throw new IllegalArgumentException(
          "padding must be a number that column %d (%s) holds, got %s"
              .formatted(length.column(), row, length.padding()));
    }
  }

  private static boolean holds(DType dtype, double value) {
    return switch (dtype) {
      case BOOL -> value == 0 || value == 1;
      case UINT8 -> value == ((int) value & 0xff);
      case UINT16 -> value == ((int) value & 0xffff);
      case UINT32 -> value == ((long) value & 0xffffffffL);
      case UINT64 -> value == Math.rint(value) && value >= 0 && value < 0x1p64;
      case INT8 -> value == (byte) value;
      case INT16 -> value == (short) value;
      case INT32 -> value == (int) value;
      case INT64 -> value == (long) value && value < 0x1p63;
      case FLOAT32, FLOAT64 -> true;
      default -> Double.compare(value, rounded(dtype, value)) == 0;
    };
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
