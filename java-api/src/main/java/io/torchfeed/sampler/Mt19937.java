// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.math.BigInteger;

/**
 * The Mersenne Twister with 32-bit words, as the C++ standard defines it and PyTorch's CPU
 * generator uses it. Not thread-safe.
 */
final class Mt19937 {
  static final int WORDS = 624;
  static final int MIDDLE = 397;
  static final int TWIST = 0x9908b0df;

  /** From about here on a jump is faster than the steps. */
  private static final BigInteger JUMP_FROM = BigInteger.ONE.shiftLeft(24);

  private static final long LOW_53_BITS = (1L << 53) - 1;
  private static final double ULP_OF_53_BITS = 0x1p-53;

  private final int[] state = new int[WORDS];
  private int next = WORDS;

  /**
   * A generator at the start of its stream.
   *
   * @param seed its low 32 bits count
   */
  Mt19937(long seed) {
    state[0] = (int) seed;
    for (int i = 1; i < WORDS; i++) {
      state[i] = 1812433253 * (state[i - 1] ^ state[i - 1] >>> 30) + i;
    }
  }

  /** The next 32 bits. */
  int nextInt() {
    if (next == WORDS) {
      refill();
    }
    int y = state[next++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return y ^ y >>> 18;
  }

  /** The next 32 bits as a number in [0, 2^32). */
  long nextUnsigned() {
    return Integer.toUnsignedLong(nextInt());
  }

  /** The next 64 bits: two outputs, the first one high. */
  long nextLong() {
    long high = nextInt();
    return high << 32 | nextUnsigned();
  }

  /** The next number in [0, 1), a multiple of 2^-53, from 64 bits. */
  double nextDouble() {
    return (nextLong() & LOW_53_BITS) * ULP_OF_53_BITS;
  }

  /** Passes over outputs of 32 bits. */
  void skip(long outputs) {
    long left = outputs;
    while (left > 0) {
      if (next == WORDS) {
        refill();
      }
      int step = (int) Math.min(left, WORDS - next);
      next += step;
      left -= step;
    }
  }

  /** Passes over outputs of 32 bits, over many in a time that hardly depends on how many. */
  void skip(BigInteger outputs) {
    if (outputs.compareTo(JUMP_FROM) < 0) {
      skip(outputs.longValue());
      return;
    }
    Mt19937Jump.jump(state, outputs.subtract(BigInteger.valueOf(WORDS - next)));
    next = WORDS;
  }

  private void refill() {
    int k = 0;
    for (; k < WORDS - MIDDLE; k++) {
      state[k] = twist(state[k], state[k + 1], state[k + MIDDLE]);
    }
    for (; k < WORDS - 1; k++) {
      state[k] = twist(state[k], state[k + 1], state[k + MIDDLE - WORDS]);
    }
    state[k] = twist(state[k], state[0], state[k + MIDDLE - WORDS]);
    next = 0;
  }

  static int twist(int high, int low, int far) {
    int y = (high & 0x80000000) | (low & 0x7fffffff);
    return far ^ (y >>> 1) ^ (-(y & 1) & TWIST);
  }
}
