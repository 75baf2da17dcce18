// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.Arrays;

/**
 * A sum of doubles without rounding, so that it is the same in any order: a whole number of units
 * of 2<sup>-1074</sup>, the smallest double, in digits of 32 bits. Up to 2<sup>63</sup> of the
 * largest doubles fit. NaN and the infinities are counted apart, and decide the value as in a plain
 * sum.
 */
final class ExactSum {
  /** The exponent of a unit. */
  static final int UNIT = -1074;

  private static final int BITS = 32;
  private static final long MASK = (1L << BITS) - 1;
  private static final int DIGITS = 68; // 2098 bits of a double, 63 of a count, and a sign
  private static final int MANTISSA = 52;
  private static final int MAX_EXPONENT = 0x7ff;
  private static final int MAX_PENDING = 1 << 29; // each adds less than 2^33 to a digit

  private final long[] digits = new long[DIGITS];
  private int pending;
  private long nans;
  private long positive;
  private long negative;

  void add(double value) {
    long bits = Double.doubleToRawLongBits(value);
    int exponent = (int) (bits >>> MANTISSA) & MAX_EXPONENT;
    if (exponent == MAX_EXPONENT) {
      addSpecial(value);
      return;
    }
    long mantissa = bits & ((1L << MANTISSA) - 1);
    int place = 0;
    if (exponent > 0) {
      mantissa |= 1L << MANTISSA;
      place = exponent - 1;
    }
    int digit = place / BITS;
    int shift = place % BITS;
    long low = (mantissa & MASK) << shift;
    long high = (mantissa >>> BITS) << shift;
    long sign = bits < 0 ? -1 : 1;
    digits[digit] += sign * (low & MASK);
    digits[digit + 1] += sign * ((low >>> BITS) + (high & MASK));
    digits[digit + 2] += sign * (high >>> BITS);
    if (++pending == MAX_PENDING) {
      carry();
    }
  }

  private void addSpecial(double value) {
    if (Double.isNaN(value)) {
      nans++;
    } else if (value > 0) {
      positive++;
    } else {
      negative++;
    }
  }

  /** Adds a product without rounding, unless its lower half is below 2<sup>-1074</sup>. */
  void addProduct(double a, double b) {
    double product = a * b;
    add(product);
    if (Double.isFinite(product)) {
      add(Math.fma(a, b, -product));
    }
  }

  void add(ExactSum other) {
    other.carry();
    carry();
    for (int i = 0; i < DIGITS; i++) {
      digits[i] += other.digits[i];
    }
    carry();
    nans = Math.addExact(nans, other.nans);
    positive = Math.addExact(positive, other.positive);
    negative = Math.addExact(negative, other.negative);
  }

  /** Brings all digits but the last, which has the sign, into [0, 2^32). */
  private void carry() {
    for (int i = 0; i < DIGITS - 1; i++) {
      digits[i + 1] += digits[i] >> BITS;
      digits[i] &= MASK;
    }
    pending = 0;
  }

  /** Returns whether all values were finite. */
  boolean isFinite() {
    return nans + positive + negative == 0;
  }

  /** Returns the sum, rounded once; NaN or infinite as a plain sum would be. */
  double value() {
    if (nans > 0 || (positive > 0 && negative > 0)) {
      return Double.NaN;
    }
    if (positive > 0 || negative > 0) {
      return positive > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    }
    return rounded(units(), UNIT);
  }

  /** Returns the sum of the finite values in units. */
  BigInteger units() {
    carry();
    BigInteger units = BigInteger.valueOf(digits[DIGITS - 1]);
    for (int i = DIGITS - 2; i >= 0; i--) {
      units = units.shiftLeft(BITS).or(BigInteger.valueOf(digits[i]));
    }
    return units;
  }

  /** Returns a number times a power of 2 as the nearest double. */
  static double rounded(BigInteger number, int exponent) {
    int dropped = Math.max(0, number.bitLength() - Long.SIZE); // far below half of a last place
    BigInteger kept = number.shiftRight(dropped);
    if (dropped > 0 && number.abs().getLowestSetBit() < dropped) {
      kept = kept.or(BigInteger.ONE); // not a tie
    }
    return Math.scalb(kept.doubleValue(), exponent + dropped);
  }

  /** Returns a quotient, rounded to 34 digits and then to the nearest double. */
  static double quotient(BigInteger numerator, BigInteger denominator) {
    return new BigDecimal(numerator)
        .divide(new BigDecimal(denominator), MathContext.DECIMAL128)
        .doubleValue();
  }

  void write(CountBytes.Writer out) {
    carry();
    out.put(nans);
    out.put(positive);
    out.put(negative);
    int first = 0;
    while (first < DIGITS && digits[first] == 0) {
      first++;
    }
    out.put(first);
    for (int i = first; i < DIGITS; i++) {
      out.put(digits[i]);
    }
  }

  void read(CountBytes.Reader in) {
    nans = in.count();
    positive = in.count();
    negative = in.count();
    Arrays.fill(digits, 0);
    long first = in.count();
    for (long i = Math.min(first, DIGITS); i < DIGITS; i++) {
      digits[(int) i] = in.next();
      if (i < DIGITS - 1 && digits[(int) i] >>> BITS != 0) {
        throw in.malformed();
      }
    }
    pending = 0;
  }

  void clear() {
    Arrays.fill(digits, 0);
    pending = 0;
    nans = 0;
    positive = 0;
    negative = 0;
  }
}
