// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.DType;
import java.util.Locale;

/** Fields of text as numbers. */
final class FieldFormat {
  private static final int LONGEST_QUOTE = 200;

  private FieldFormat() {}

  /**
   * Writes a field as the next element of a column.
   *
   * @throws NumberFormatException if the text is no number of that dtype
   */
  static void put(SampleWriter sample, int column, DType dtype, String field) {
    String text = field.strip();
    switch (dtype) {
      case BOOL -> sample.putByte(column, (byte) (bool(text) ? 1 : 0));
      case UINT8 -> sample.putByte(column, (byte) whole(text, 0, 255));
      case INT8 -> sample.putByte(column, (byte) whole(text, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case INT16 -> sample.putShort(column, (short) whole(text, Short.MIN_VALUE, Short.MAX_VALUE));
      case INT32 -> sample.putInt(column, (int) whole(text, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case INT64 -> sample.putLong(column, Long.parseLong(text));
      case FLOAT32 -> sample.putFloat(column, Float.parseFloat(decimal(text)));
      case FLOAT64 -> sample.putDouble(column, Double.parseDouble(decimal(text)));
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
    long value = Long.parseLong(text);
    if (value < least || value > most) {
      throw new NumberFormatException();
    }
    return value;
  }

  /** Java alone takes type letters and hexadecimal digits. */
  private static String decimal(String text) {
    int last = text.isEmpty() ? 0 : text.charAt(text.length() - 1);
    boolean isName = text.endsWith("NaN") || text.endsWith("Infinity");
    boolean isTyped = !isName && last != '.' && (last < '0' || last > '9');
    if (isTyped || text.contains("x")) {
      throw new NumberFormatException();
    }
    return text;
  }

  /** What is allowed in a field, for messages. */
  static String rule(DType dtype) {
    return switch (dtype) {
      case BOOL -> "a bool must be true, false, 1 or 0";
      case UINT8 -> "an uint8 must be a whole number in [0, 255]";
      case INT8 -> "an int8 must be a whole number in [-128, 127]";
      case INT16 -> "an int16 must be a whole number in [-32768, 32767]";
      case INT32 -> "an int32 must be a whole number in [-2147483648, 2147483647]";
      case INT64 -> "an int64 must be a whole number of 64 bits";
      case FLOAT32, FLOAT64 ->
          "a " + dtype.name().toLowerCase(Locale.ROOT) + " must be a decimal number";
    };
  }

  /** The beginning of a text, for messages. */
  static String quote(String text) {
    return text.length() <= LONGEST_QUOTE ? text : text.substring(0, LONGEST_QUOTE) + "…";
  }
}
