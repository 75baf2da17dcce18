// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The element type of a row, by PyTorch's name: each type of libtorch whose numbers take whole
 * bytes and are not quantized.
 *
 * <p>Java code writes an element as the Java number that has the same bytes, unchanged: {@code
 * byte} for the types of 8 bits, {@code short} for 16, {@code int} and {@code long} for the
 * integers of 32 and 64, {@code float} and {@code double}. An unsigned integer is written as the
 * signed one of the same bits, and a float of 8 or 16 bits as its bits. Complex numbers cannot be
 * written from Java; write rows {@code [..., 2]} of real and imaginary parts, and let a transform
 * call {@code view_as_complex}.
 */
public enum DType {
  /** One byte, 0 or 1. */
  BOOL(1, ScalarType.Bool),
  /** Unsigned 8-bit integers. */
  UINT8(1, ScalarType.Byte),
  /** Unsigned 16-bit integers. */
  UINT16(2, ScalarType.UInt16),
  /** Unsigned 32-bit integers. */
  UINT32(4, ScalarType.UInt32),
  /** Unsigned 64-bit integers. */
  UINT64(8, ScalarType.UInt64),
  /** 8-bit integers. */
  INT8(1, ScalarType.Char),
  /** 16-bit integers. */
  INT16(2, ScalarType.Short),
  /** 32-bit integers. */
  INT32(4, ScalarType.Int),
  /** 64-bit integers, PyTorch's type for class labels. */
  INT64(8, ScalarType.Long),
  /** 8-bit floats with 4 bits of exponent and 3 of mantissa, without infinities; bias 7. */
  FLOAT8_E4M3FN(1, ScalarType.Float8_e4m3fn),
  /** 8-bit floats like {@link #FLOAT8_E4M3FN}, without negative zero; bias 8. */
  FLOAT8_E4M3FNUZ(1, ScalarType.Float8_e4m3fnuz),
  /** 8-bit floats with 5 bits of exponent and 2 of mantissa; bias 15. */
  FLOAT8_E5M2(1, ScalarType.Float8_e5m2),
  /** 8-bit floats like {@link #FLOAT8_E5M2}, without infinities or negative zero; bias 16. */
  FLOAT8_E5M2FNUZ(1, ScalarType.Float8_e5m2fnuz),
  /** 8-bit powers of two, the scales of blocks of other numbers. */
  FLOAT8_E8M0FNU(1, ScalarType.Float8_e8m0fnu),
  /** Half precision. */
  FLOAT16(2, ScalarType.Half),
  /** The upper 16 bits of single precision. */
  BFLOAT16(2, ScalarType.BFloat16),
  /** Single precision. */
  FLOAT32(4, ScalarType.Float),
  /** Double precision. */
  FLOAT64(8, ScalarType.Double),
  /** Complex numbers of two {@link #FLOAT16}. */
  COMPLEX32(4, 2, ScalarType.ComplexHalf),
  /** Complex numbers of two {@link #FLOAT32}. */
  COMPLEX64(8, 4, ScalarType.ComplexFloat),
  /** Complex numbers of two {@link #FLOAT64}. */
  COMPLEX128(16, 8, ScalarType.ComplexDouble);

  private final int bytes;
  private final int unitBytes;
  private final ScalarType scalarType;

  DType(int bytes, ScalarType scalarType) {
    this(bytes, bytes, scalarType);
  }

  DType(int bytes, int unitBytes, ScalarType scalarType) {
    this.bytes = bytes;
    this.unitBytes = unitBytes;
    this.scalarType = scalarType;
  }

  /**
   * Returns the type for one of libtorch's constants.
   *
   * @param scalarType the constant of the JavaCPP presets, or the dtype of a tensor
   * @return the type with this {@link #scalarType()}
   * @throws IllegalArgumentException if the type is quantized, narrower than a byte, or has no
   *     numbers
   */
  public static DType of(ScalarType scalarType) {
    ScalarType known =
        requireNonNull(scalarType, "scalarType").intern(); // a tensor's is a separate object
    for (DType dtype : values()) {
      if (dtype.scalarType == known) {
        return dtype;
      }
    }
    throw new IllegalArgumentException(
        "dtype must be one of %s, got %s"
            .formatted(
                Arrays.stream(values())
                    .map(dtype -> dtype.name().toLowerCase(Locale.ROOT))
                    .collect(Collectors.joining(", ")),
                known));
  }

  /**
   * Returns the size of an element.
   *
   * @return the size in bytes
   */
  public int bytes() {
    return bytes;
  }

  /**
   * Returns the size of each number in an element, whose bytes a change of byte order reverses.
   *
   * @return half of {@link #bytes()} for a complex type, otherwise the same
   */
  public int unitBytes() {
    return unitBytes;
  }

  /**
   * Returns libtorch's constant for the type.
   *
   * @return the constant of the JavaCPP presets
   */
  public ScalarType scalarType() {
    return scalarType;
  }
}
