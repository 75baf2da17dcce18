// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.sums;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.Arrays;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A sum of doubles without rounding, so that it is the same in any order: a whole number of units
 * of 2<sup>-1074</sup>, the smallest double, in digits of 32 bits. Up to 2<sup>63</sup> of the
 * largest doubles fit. NaN and the infinities are counted apart, and decide the value as in a plain
 * sum. Not thread-safe.
 */
public final class ExactSum implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The exponent of a unit. */
  public static final int UNIT = -1074;

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

  /** Adds a number. */
  public void add(double value) {
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
  public void addProduct(double a, double b) {
    double product = a * b;
    add(product);
    if (Double.isFinite(product)) {
      add(Math.fma(a, b, -product));
    }
  }

  /** Adds another sum. */
  public void add(ExactSum other) {
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
  public boolean isFinite() {
    return nans + positive + negative == 0;
  }

  /** Returns the sum, rounded once; NaN or infinite as a plain sum would be. */
  public double value() {
    if (nans > 0 || (positive > 0 && negative > 0)) {
      return Double.NaN;
    }
    if (positive > 0 || negative > 0) {
      return positive > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    }
    return rounded(units(), UNIT);
  }

  /** Returns the sum of the finite values in units. */
  public BigInteger units() {
    carry();
    BigInteger units = BigInteger.valueOf(digits[DIGITS - 1]);
    for (int i = DIGITS - 2; i >= 0; i--) {
      units = units.shiftLeft(BITS).or(BigInteger.valueOf(digits[i]));
    }
    return units;
  }

  /** Returns a number times a power of 2 as the nearest double. */
  public static double rounded(BigInteger number, int exponent) {
    int dropped = Math.max(0, number.bitLength() - Long.SIZE); // far below half of a last place
    BigInteger kept = number.shiftRight(dropped);
    if (dropped > 0 && number.abs().getLowestSetBit() < dropped) {
      kept = kept.or(BigInteger.ONE); // not a tie
    }
    return Math.scalb(kept.doubleValue(), exponent + dropped);
  }

  /** Returns a quotient, rounded to 34 digits and then to the nearest double. */
  public static double quotient(BigInteger numerator, BigInteger denominator) {
    return new BigDecimal(numerator)
        .divide(new BigDecimal(denominator), MathContext.DECIMAL128)
        .doubleValue();
  }

  /** Writes all digits as numbers, for {@link #read}. */
  public void write(LongConsumer out) {
    carry();
    out.accept(nans);
    out.accept(positive);
    out.accept(negative);
    int first = 0;
    while (first < DIGITS && digits[first] == 0) {
      first++;
    }
    out.accept(first);
    for (int i = first; i < DIGITS; i++) {
      out.accept(digits[i]);
    }
  }

  /**
   * Reads the numbers of {@link #write}.
   *
   * @param counts the next number, which must be at least 0
   * @param digits the next number
   * @param malformed thrown if the numbers are none of a sum
   */
  public void read(
      LongSupplier counts, LongSupplier digits, Supplier<? extends RuntimeException> malformed) {
    nans = counts.getAsLong();
    positive = counts.getAsLong();
    negative = counts.getAsLong();
    Arrays.fill(this.digits, 0);
    long first = counts.getAsLong();
    for (long i = Math.min(first, DIGITS); i < DIGITS; i++) {
      this.digits[(int) i] = digits.getAsLong();
      if (i < DIGITS - 1 && this.digits[(int) i] >>> BITS != 0) {
        throw malformed.get();
      }
    }
    pending = 0;
  }

  /** Sets the sum to 0. */
  public void clear() {
    Arrays.fill(digits, 0);
    pending = 0;
    nans = 0;
    positive = 0;
    negative = 0;
  }
}
