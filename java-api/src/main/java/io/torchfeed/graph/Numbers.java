// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Parsing of numbers in bytes. */
final class Numbers {
  private static final int MAX_QUOTE = 40;

  /** The maximum number of digits that always fit in a long. */
  private static final int SAFE_DIGITS = 18;

  /** The limit up to which whole numbers are exact as a double. */
  private static final long EXACT = 1L << 53;

  /** The powers of ten that are exact as a double. */
  private static final double[] POWERS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22
  };

  private static final long[] WHOLE_POWERS = new long[SAFE_DIGITS + 1];

  static {
    WHOLE_POWERS[0] = 1;
    for (int i = 1; i < WHOLE_POWERS.length; i++) {
      WHOLE_POWERS[i] = 10 * WHOLE_POWERS[i - 1];
    }
  }

  private Numbers() {}

  /** Returns ten to the power of {@code exponent}, which is at most 18. */
  static long powerOfTen(int exponent) {
    return WHOLE_POWERS[exponent];
  }

  /** Parses a whole number in [0, 2^64 - 1]. */
  static long id(byte[] bytes, int start, int end) {
    if (start == end || end - start > SAFE_DIGITS) {
      return longId(bytes, start, end);
    }
    long id = 0;
    for (int i = start; i < end; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) {
        throw noId(bytes, start, end);
      }
      id = 10 * id + digit;
    }
    return id;
  }

  private static long longId(byte[] bytes, int start, int end) {
    for (int i = start; i < end; i++) {
      if (bytes[i] < '0' || bytes[i] > '9') { // Java accepts the digits of every script
        throw noId(bytes, start, end);
      }
    }
    try {
      return Long.parseUnsignedLong(new String(bytes, start, end - start, UTF_8));
    } catch (NumberFormatException e) {
      throw noId(bytes, start, end);
    }
  }

  private static LineParser.MalformedLineException noId(byte[] bytes, int start, int end) {
    return new LineParser.MalformedLineException(
        "an id must be a whole number in [0, 18446744073709551615], got \"%s\""
            .formatted(quote(bytes, start, end)));
  }

  /** Parses a finite number in decimal notation, correctly rounded. */
  static double weight(byte[] bytes, int start, int end) {
    boolean negative = start < end && bytes[start] == '-';
    long digits = 0;
    int point = -1;
    int first = negative ? start + 1 : start;
    if (first == end || end - first > SAFE_DIGITS + 1) {
      return anyWeight(bytes, start, end);
    }
    for (int i = first; i < end; i++) {
      int digit = bytes[i] - '0';
      if (digit >= 0 && digit <= 9) {
        digits = 10 * digits + digit;
      } else if (bytes[i] == '.' && point < 0 && end - first > 1) {
        point = i;
      } else {
        return anyWeight(bytes, start, end);
      }
    }
    int decimals = point < 0 ? 0 : end - 1 - point;
    boolean fits = end - first <= (point < 0 ? SAFE_DIGITS : SAFE_DIGITS + 1);
    if (!fits || digits > EXACT) {
      return anyWeight(bytes, start, end);
    }
    // Both are exact, so the single rounding of the division is the correct one.
    double weight = digits / POWERS[decimals];
    return negative ? -weight : weight;
  }

  private static double anyWeight(byte[] bytes, int start, int end) {
    boolean decimal = start < end;
    for (int i = start; i < end; i++) {
      byte b = bytes[i];
      boolean digit = b >= '0' && b <= '9';
      decimal &= digit || b == '+' || b == '-' || b == '.' || b == 'e' || b == 'E';
    }
    if (decimal) {
      try {
        double weight = Double.parseDouble(new String(bytes, start, end - start, UTF_8));
        if (Double.isFinite(weight)) {
          return weight;
        }
      } catch (NumberFormatException e) {
        throw noWeight(bytes, start, end);
      }
    }
    throw noWeight(bytes, start, end);
  }

  private static LineParser.MalformedLineException noWeight(byte[] bytes, int start, int end) {
    return new LineParser.MalformedLineException(
        "a weight must be a finite decimal number, got \"%s\"".formatted(quote(bytes, start, end)));
  }

  static String text(byte[] bytes, int start, int length) {
    return new String(bytes, start, length, UTF_8);
  }

  static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  static String quote(byte[] bytes, int start, int end) {
    int shown = Math.min(end - start, MAX_QUOTE);
    String text = new String(bytes, start, shown, UTF_8);
    return shown < end - start ? text + "…" : text;
  }
}
