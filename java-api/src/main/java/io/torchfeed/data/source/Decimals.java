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
  /** Numbers of up to 15 digits and the powers of 10 up to 10^15 are float64 without rounding. */
  private static final int MAX_DIGITS = 15;

  private static final double[] POWERS_OF_10 = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };

  /** The bits of a float64 that a float32 lacks, and the highest of them. */
  private static final long BEHIND_FLOAT32 = (1L << 29) - 1;

  private static final long HALF_OF_FLOAT32 = 1L << 28;

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

  static boolean isWhite(char c) {
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
  static double float64(CharSequence text) {
    double plain = plain(text);
    return Double.isNaN(plain) ? other(text.toString()) : plain;
  }

  private static double other(String text) {
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
    double plain = plain(text);
    // Halfway between two float32, the float64 may have been rounded to there.
    if (!Double.isNaN(plain)
        && (Double.doubleToRawLongBits(plain) & BEHIND_FLOAT32) != HALF_OF_FLOAT32) {
      return (float) plain;
    }
    if (!isDecimal(text)) {
      return (float) named(text);
    }
    float value = Float.parseFloat(text);
    if (Float.isInfinite(value)) {
      throw new NumberFormatException();
    }
    return value;
  }

  /**
   * Returns a number of few digits without an exponent, rounded to the nearest float64; NaN for any
   * other text. One division of two exact numbers is rounded once, as {@link Double#parseDouble}
   * does, at a fraction of its time.
   */
  private static double plain(CharSequence text) {
    long number = 0;
    int digits = 0;
    int point = -1; // the digits before it
    for (int i = afterSign(text, 0); i < text.length(); i++) {
      char c = text.charAt(i);
      if (c >= '0' && c <= '9' && digits < MAX_DIGITS) {
        number = number * 10 + (c - '0');
        digits++;
      } else if (c == '.' && point < 0) {
        point = digits;
      } else {
        return Double.NaN;
      }
    }
    if (digits == 0) {
      return Double.NaN;
    }
    double value = point < 0 ? number : number / POWERS_OF_10[digits - point];
    return text.charAt(0) == '-' ? -value : value;
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

  private static boolean isAt(CharSequence text, int at, char wanted) {
    return at < text.length() && text.charAt(at) == wanted;
  }

  private static int afterSign(CharSequence text, int at) {
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
