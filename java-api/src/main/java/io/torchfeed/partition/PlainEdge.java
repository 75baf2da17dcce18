// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import org.jspecify.annotations.Nullable;

/**
 * Reads the usual form of an edge, {@code a,b} or {@code a,b,w} with ids that are numbers, eight
 * digits at a time; leaves all else to {@link EdgeParser}, with the same result for what it reads.
 */
final class PlainEdge {
  private static final long ZEROS = 0x3030303030303030L;
  private static final long LOW_BITS = 0x7f7f7f7f7f7f7f7fL;
  private static final long TOP_BITS = 0x8080808080808080L;

  /** Sets bit 7 of what is above 9. */
  private static final long ABOVE_NINE = 0x7676767676767676L;

  private static final int MOST_DIGITS = 16;
  private static final int TOO_MANY = -1;

  /** Up to here a whole number is exact as a double. */
  private static final long EXACT = 1L << 53;

  private final byte separator;
  private long first;
  private long second;
  private double weight;

  /** What {@link #digits} found. */
  private long value;

  private PlainEdge(byte separator) {
    this.separator = separator;
  }

  /** For rules whose lines may have this form, otherwise null. */
  static @Nullable PlainEdge of(EdgeRules rules) {
    if (rules.mixed()
        || rules.ids() != IdKind.NUMBER
        || !(rules.parser() instanceof SeparatedFields fields)
        || fields.separators().length() != 1) {
      return null;
    }
    char separator = fields.separators().charAt(0);
    boolean hasDigit = "0123456789.-".indexOf(separator) >= 0;
    for (byte digit = '0'; digit <= '9'; digit++) {
      hasDigit |= rules.valueSeparators().contains(digit);
    }
    return hasDigit ? null : new PlainEdge((byte) separator);
  }

  /** Whether the line has the usual form; then the edge is read. */
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
    return at == end || (line[at] == separator && parseWeight(line, at + 1, end));
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
      if (decimals < 0 || count + decimals > MOST_DIGITS) {
        return false;
      }
      whole = whole * Numbers.powerOfTen(decimals) + value;
    }
    if (at != end || count + decimals == 0 || whole > EXACT) {
      return false;
    }
    // Both are exact, so that the one rounding of the division is the right one.
    double quotient = whole / (double) Numbers.powerOfTen(decimals);
    weight = negative ? -quotient : quotient;
    return true;
  }

  /** How many digits there are, up to 16, or that there are more; their value. */
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
    boolean goesOn = count == Long.BYTES && next < end && line[next] >= '0' && line[next] <= '9';
    return goesOn ? TOO_MANY : Long.BYTES + count;
  }

  /** How many of the first bytes are below ten. */
  private static int leading(long word) {
    long others = ((word & LOW_BITS) + ABOVE_NINE | word) & TOP_BITS;
    return Long.numberOfTrailingZeros(others) >>> 3;
  }

  /** The number of the first digits, at least one: of two, four and eight neighbours at once. */
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
