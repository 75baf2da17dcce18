// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.util.Locale;

/**
 * Parsers of numbers in decimal notation, in ASCII, as Python's {@code float} and {@code int} read
 * them.
 *
 * <p>Java's own parsers also accept hexadecimal digits, type suffixes and digits of all scripts,
 * and read numbers beyond the range as infinity. Python's underscores between digits are rejected.
 */
final class Decimals {
  private Decimals() {}

  /** Returns the text without leading and trailing ASCII white space. */
  static String stripped(String text) {
    int start = 0;
    int end = text.length();
    while (start < end && isWhite(text.charAt(start))) {
      start++;
    }
    while (start < end && isWhite(text.charAt(end - 1))) {
      end--;
    }
    return text.substring(start, end);
  }

  private static boolean isWhite(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
  }

  /**
   * Parses a 64-bit integer.
   *
   * @throws NumberFormatException if the text is something else
   */
  static long whole(String text) {
    requireAscii(text);
    return Long.parseLong(text);
  }

  /**
   * Parses a number, infinity or NaN, rounded to the nearest float64.
   *
   * @throws NumberFormatException if the text is something else, or too large
   */
  static double float64(String text) {
    if (!isDecimal(text)) {
      return named(text);
    }
    double value = Double.parseDouble(text);
    if (Double.isInfinite(value)) {
      throw new NumberFormatException();
    }
    return value;
  }

  /**
   * Parses a number, infinity or NaN, rounded to the nearest float32.
   *
   * @throws NumberFormatException if the text is something else, or too large
   */
  static float float32(String text) {
    if (!isDecimal(text)) {
      return (float) named(text);
    }
    float value = Float.parseFloat(text);
    if (Float.isInfinite(value)) {
      throw new NumberFormatException();
    }
    return value;
  }

  private static void requireAscii(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) >= 0x80) {
        throw new NumberFormatException();
      }
    }
  }

  /**
   * Returns whether the text is an optional sign, digits with at most one point, and an optional
   * exponent.
   */
  private static boolean isDecimal(String text) {
    int start = afterSign(text, 0);
    int point = afterDigits(text, start);
    int end = isAt(text, point, '.') ? afterDigits(text, point + 1) : point;
    boolean hasDigit = point > start || end > point + 1;
    if (hasDigit && (isAt(text, end, 'e') || isAt(text, end, 'E'))) {
      int exponent = afterSign(text, end + 1);
      end = afterDigits(text, exponent);
      hasDigit = end > exponent;
    }
    return hasDigit && end == text.length();
  }

  private static boolean isAt(String text, int at, char wanted) {
    return at < text.length() && text.charAt(at) == wanted;
  }

  private static int afterSign(String text, int at) {
    return isAt(text, at, '+') || isAt(text, at, '-') ? at + 1 : at;
  }

  private static int afterDigits(String text, int from) {
    int at = from;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    return at;
  }

  private static double named(String text) {
    requireAscii(text);
    return switch (text.substring(afterSign(text, 0)).toLowerCase(Locale.ROOT)) {
      case "inf", "infinity" ->
          isAt(text, 0, '-') ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
      case "nan" -> Double.NaN;
      default -> throw new NumberFormatException();
    };
  }
}
