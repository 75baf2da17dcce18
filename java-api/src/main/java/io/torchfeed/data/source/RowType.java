// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.util.Arrays;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The size of a dtype whose elements can be read from a file unchanged.
 *
 * @param elementBytes bytes of one element
 * @param unitBytes bytes of each number in an element, the unit that a change of byte order
 *     reverses: a complex element has two numbers, any other element has one
 */
record RowType(int elementBytes, int unitBytes) {
  static RowType of(ScalarType dtype) {
    return switch (dtype) {
      case Byte, Char, Bool, Float8_e5m2, Float8_e4m3fn, Float8_e5m2fnuz, Float8_e4m3fnuz ->
          new RowType(1, 1);
      case Short, UInt16, Half, BFloat16 -> new RowType(2, 2);
      case Int, UInt32, Float -> new RowType(4, 4);
      case Long, UInt64, Double -> new RowType(8, 8);
      case ComplexHalf -> new RowType(4, 2);
      case ComplexFloat -> new RowType(8, 4);
      case ComplexDouble -> new RowType(16, 8);
      default ->
          throw new IllegalArgumentException(
              "dtype must be an integer, floating point, complex or boolean one, got " + dtype);
    };
  }

  /** Returns the bytes of a dense sample. */
  long rowBytes(long... sampleShape) {
    long bytes = elementBytes;
    try {
      for (long size : sampleShape) {
        bytes = Math.multiplyExact(bytes, size);
      }
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "a sample must be shorter than 2^63 bytes, got the shape " + Arrays.toString(sampleShape),
          e);
    }
    return bytes;
  }
}
