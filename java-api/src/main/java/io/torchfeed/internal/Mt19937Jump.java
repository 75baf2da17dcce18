// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Long jumps along the stream of {@link Mt19937}, in a time that grows with the logarithm of the
 * distance.
 *
 * <p>A step of the generator is a linear map A of 19937 bits, so d steps are the polynomial x^d
 * modulo the characteristic polynomial of A, evaluated at A. Sources: Matsumoto and Nishimura,
 * Mersenne Twister, ACM TOMACS 8 (1998), appendix A (the characteristic polynomial); Haramoto,
 * Matsumoto, Nishimura, Panneton and L'Ecuyer, Efficient jump ahead for F2-linear random number
 * generators, INFORMS Journal on Computing 20 (2008).
 */
final class Mt19937Jump {
  private static final int DEGREE = 19_937;
  private static final int TOP_WORD = DEGREE / Long.SIZE;
  private static final int TOP_SHIFT = DEGREE % Long.SIZE;
  private static final int[] LOWER_EXPONENTS = lowerExponents();

  private Mt19937Jump() {}

  /**
   * Advances the state.
   *
   * @param state the next words of the recurrence, none of them twisted yet
   * @param distance at least 0
   */
  static void jump(int[] state, BigInteger distance) {
    long[] power = power(distance);
    int[] sequence = sequence(state);
    Arrays.fill(state, 0);
    for (int i = 0; i < DEGREE; i++) {
      if ((power[i / Long.SIZE] >>> i & 1) != 0) {
        for (int j = 0; j < state.length; j++) {
          state[j] ^= sequence[i + j];
        }
      }
    }
  }

  private static int[] sequence(int[] state) {
    int words = state.length;
    int[] sequence = Arrays.copyOf(state, DEGREE + words);
    for (int k = 0; k < DEGREE; k++) {
      sequence[k + words] =
          Mt19937.twist(sequence[k], sequence[k + 1], sequence[k + Mt19937.MIDDLE]);
    }
    return sequence;
  }

  /** Returns the coefficients of x^exponent modulo the characteristic polynomial. */
  private static long[] power(BigInteger exponent) {
    long[] power = new long[TOP_WORD + 1];
    power[0] = 1;
    for (int bit = exponent.bitLength() - 1; bit >= 0; bit--) {
      power = reduced(squared(power));
      if (exponent.testBit(bit)) {
        multiplyByX(power);
      }
    }
    return power;
  }

  private static long[] squared(long[] polynomial) {
    long[] square = new long[2 * polynomial.length];
    for (int i = 0; i < polynomial.length; i++) {
      square[2 * i] = spread(polynomial[i] & 0xffff_ffffL);
      square[2 * i + 1] = spread(polynomial[i] >>> Integer.SIZE);
    }
    return square;
  }

  /** Inserts a zero between adjacent bits of a 32-bit number. */
  private static long spread(long bits) {
    long spread = bits;
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffffL;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ffL;
    spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0fL;
    spread = (spread | spread << 2) & 0x3333_3333_3333_3333L;
    return (spread | spread << 1) & 0x5555_5555_5555_5555L;
  }

  /**
   * Reduces a polynomial; the lower exponents end far enough below the degree to take whole words.
   */
  private static long[] reduced(long[] polynomial) {
    for (int i = polynomial.length - 1; i > TOP_WORD; i--) {
      long word = polynomial[i];
      polynomial[i] = 0;
      addMultiple(polynomial, word, i * Long.SIZE - DEGREE);
    }
    reduceTopWord(polynomial);
    return Arrays.copyOf(polynomial, TOP_WORD + 1);
  }

  private static void reduceTopWord(long[] polynomial) {
    long above = polynomial[TOP_WORD] >>> TOP_SHIFT;
    polynomial[TOP_WORD] &= (1L << TOP_SHIFT) - 1;
    addMultiple(polynomial, above, 0);
  }

  private static void addMultiple(long[] polynomial, long factor, int shift) {
    for (int exponent : LOWER_EXPONENTS) {
      int at = exponent + shift;
      polynomial[at / Long.SIZE] ^= factor << at;
      if (at % Long.SIZE != 0) {
        polynomial[at / Long.SIZE + 1] ^= factor >>> -at;
      }
    }
  }

  private static void multiplyByX(long[] polynomial) {
    for (int i = TOP_WORD; i > 0; i--) {
      polynomial[i] = (polynomial[i] << 1) | (polynomial[i - 1] >>> (Long.SIZE - 1));
    }
    polynomial[0] <<= 1;
    reduceTopWord(polynomial);
  }

  /**
   * Returns the exponents of the characteristic polynomial except its degree. With q = x^623 +
   * x^396 and the bits a of the twist, the polynomial is x (q^32 + a_0 q^31 + … + a_30 q) + a_31.
   */
  private static int[] lowerExponents() {
    BigInteger polynomial = BigInteger.ONE;
    for (int i = 0; i < Integer.SIZE; i++) {
      int words = i == Integer.SIZE - 1 ? Mt19937.WORDS : Mt19937.WORDS - 1;
      int middle = i == Integer.SIZE - 1 ? Mt19937.MIDDLE : Mt19937.MIDDLE - 1;
      polynomial = polynomial.shiftLeft(words).xor(polynomial.shiftLeft(middle));
      if ((Mt19937.TWIST >>> i & 1) != 0) {
        polynomial = polynomial.flipBit(0);
      }
    }
    return IntStream.range(0, DEGREE).filter(polynomial::testBit).toArray();
  }
}
