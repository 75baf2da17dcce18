// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** A parser of text fields as numbers. */
final class FieldFormat {
  private static final int MAX_QUOTE = 200;

  private static final Set<DType> READABLE =
      EnumSet.of(
          DType.BOOL,
          DType.UINT8,
          DType.INT8,
          DType.INT16,
          DType.INT32,
          DType.INT64,
          DType.FLOAT32,
          DType.FLOAT64);

  private FieldFormat() {}

  /**
   * Requires that fields can be read as numbers of a dtype.
   *
   * @throws IllegalArgumentException if not
   */
  static void requireReadable(DType dtype) {
    if (!READABLE.contains(dtype)) {
      throw new IllegalArgumentException(
          "text must be read as one of %s, got %s; convert the batches".formatted(READABLE, dtype));
    }
  }

  /**
   * Writes a field as the next element of a column.
   *
   * @throws NumberFormatException if the text is not a number of that dtype
   */
  static void put(SampleWriter sample, int column, DType dtype, String field) {
    String text = Decimals.stripped(field);
    switch (dtype) {
      case BOOL -> sample.putByte(column, (byte) (bool(text) ? 1 : 0));
      case UINT8 -> sample.putByte(column, (byte) whole(text, 0, 255));
      case INT8 -> sample.putByte(column, (byte) whole(text, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case INT16 -> sample.putShort(column, (short) whole(text, Short.MIN_VALUE, Short.MAX_VALUE));
      case INT32 -> sample.putInt(column, (int) whole(text, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case INT64 -> sample.putLong(column, Decimals.whole(text));
      case FLOAT32 -> sample.putFloat(column, Decimals.float32(text));
      case FLOAT64 -> sample.putDouble(column, Decimals.float64(text));
      default -> throw new AssertionError("refused by requireReadable");
    }
  }

  private static boolean bool(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw new NumberFormatException();
    };
  }

  private static long whole(String text, long least, long most) {
    long value = Decimals.whole(text);
    if (value < least || value > most) {
      throw new NumberFormatException();
    }
    return value;
  }

  /** Returns the rule for the fields of a dtype, for messages. */
  static String rule(DType dtype) {
    return switch (dtype) {
      case BOOL -> "a bool must be true, false, 1 or 0";
      case UINT8 -> "a uint8 must be a whole number in [0, 255]";
      case INT8 -> "an int8 must be a whole number in [-128, 127]";
      case INT16 -> "an int16 must be a whole number in [-32768, 32767]";
      case INT32 -> "an int32 must be a whole number in [-2147483648, 2147483647]";
      case INT64 -> "an int64 must be a whole number of 64 bits";
      case FLOAT32 ->
          "a float32 must be a decimal number of at most 3.4028235e38 in magnitude, inf or nan";
      case FLOAT64 ->
          "a float64 must be a decimal number of at most 1.7976931348623157e308 in magnitude, inf"
              + " or nan";
      default -> throw new AssertionError("refused by requireReadable");
    };
  }

  /** Returns the beginning of a text, for messages. */
  static String quote(String text) {
    return text.length() <= MAX_QUOTE ? text : text.substring(0, MAX_QUOTE) + "…";
  }
}
