// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import org.jspecify.annotations.Nullable;

/**
 * A fast parser of the usual form of an edge, {@code a,b} or {@code a,b,w} with ids that are
 * numbers, eight digits at a time. It leaves all other lines to {@link EdgeParser}, and agrees with
 * it on the lines that it parses.
 */
final class FastEdgeParser {
  private static final long ZEROS = 0x3030303030303030L;
  private static final long LOW_BITS = 0x7f7f7f7f7f7f7f7fL;
  private static final long TOP_BITS = 0x8080808080808080L;

  /** The addend that sets bit 7 of each byte above 9. */
  private static final long ABOVE_NINE = 0x7676767676767676L;

  private static final int MAX_DIGITS = 16;
  private static final int TOO_MANY = -1;

  /** The limit up to which whole numbers are exact as a double. */
  private static final long EXACT = 1L << 53;

  private final byte separator;

  /** The number of fields of a line; 0 if 2 or 3. */
  private final int fields;

  private long first;
  private long second;
  private double weight;

  /** The value parsed by {@link #digits}. */
  private long value;

  private FastEdgeParser(byte separator, int fields) {
    this.separator = separator;
    this.fields = fields;
  }

  /** Returns a parser if lines of these rules may have this form, otherwise null. */
  static @Nullable FastEdgeParser of(EdgeRules rules) {
    if (rules.mixed()
        || rules.ids() != IdMap.Kind.NUMBER
        || !(rules.parser() instanceof SeparatedFields fields)
        || (fields.separators().length() > 1 && !fields.separators().contains(" "))) {
      return null;
    }
    // A run of several blanks is left to the other parser.
    char separator = fields.separators().contains(" ") ? ' ' : fields.separators().charAt(0);
    boolean hasDigit = fields.separators().chars().anyMatch(c -> "0123456789.-".indexOf(c) >= 0);
    for (byte digit = '0'; digit <= '9'; digit++) {
      hasDigit |= rules.valueSeparators().contains(digit) || rules.comments().contains(digit);
    }
    return hasDigit ? null : new FastEdgeParser((byte) separator, rules.fields());
  }

  /** Parses a line; returns false, without an edge, if it does not have the usual form. */
  boolean parse(byte[] line, int start, int end) {
    if (line.length - end < Long.BYTES) {
      return false;
    }
    int count = digits(line, start, end);
    int at = start + count;
    if (count <= 0 || at == end || line[at] != separator) {
      return false;
    }
    first = value;
    int from = at + 1;
    count = digits(line, from, end);
    at = from + count;
    if (count <= 0) {
      return false;
    }
    second = value;
    weight = 1;
    if (at == end) {
      return fields != 3;
    }
    return fields != 2 && line[at] == separator && parseWeight(line, at + 1, end);
  }

  private boolean parseWeight(byte[] line, int start, int end) {
    boolean negative = start < end && line[start] == '-';
    int from = negative ? start + 1 : start;
    int count = digits(line, from, end);
    int at = from + count;
    if (count < 0) {
      return false;
    }
    long whole = value;
    int decimals = 0;
    if (at < end && line[at] == '.') {
      decimals = digits(line, at + 1, end);
      at += 1 + decimals;
      if (decimals < 0 || count + decimals > MAX_DIGITS) {
        return false;
      }
      whole = whole * Numbers.powerOfTen(decimals) + value;
    }
    if (at != end || count + decimals == 0 || whole > EXACT) {
      return false;
    }
    // Both are exact, so the single rounding of the division is the correct one.
    double quotient = whole / (double) Numbers.powerOfTen(decimals);
    weight = negative ? -quotient : quotient;
    return true;
  }

  /** Parses digits into {@link #value}; returns their number, up to 16, or {@link #TOO_MANY}. */
  private int digits(byte[] line, int from, int end) {
    long word = (long) WireWriter.LONG.get(line, from) ^ ZEROS;
    int count = Math.min(leading(word), end - from);
    value = count == 0 ? 0 : number(word, count);
    if (count < Long.BYTES || end - from == Long.BYTES) {
      return count;
    }
    return moreDigits(line, from + Long.BYTES, end);
  }

  private int moreDigits(byte[] line, int from, int end) {
    long word = (long) WireWriter.LONG.get(line, from) ^ ZEROS;
    int count = Math.min(leading(word), end - from);
    if (count > 0) {
      value = value * Numbers.powerOfTen(count) + number(word, count);
    }
    int next = from + count;
    boolean hasMoreDigits =
        count == Long.BYTES && next < end && line[next] >= '0' && line[next] <= '9';
    return hasMoreDigits ? TOO_MANY : Long.BYTES + count;
  }

  /** Returns the number of leading bytes that are below ten. */
  private static int leading(long word) {
    long others = ((word & LOW_BITS) + ABOVE_NINE | word) & TOP_BITS;
    return Long.numberOfTrailingZeros(others) >>> 3;
  }

  /**
   * Returns the value of the first digits, at least one, by combining two, four and eight at once.
   */
  private static long number(long word, int count) {
    long digits = word << (Long.SIZE - Byte.SIZE * count);
    long pairs = digits * 10 + (digits >>> 8) & 0x00ff00ff00ff00ffL;
    long fours = pairs * 100 + (pairs >>> 16) & 0x0000ffff0000ffffL;
    return fours * 10_000 + (fours >>> 32) & 0xffffffffL;
  }

  long first() {
    return first;
  }

  long second() {
    return second;
  }

  double weight() {
    return weight;
  }
}
