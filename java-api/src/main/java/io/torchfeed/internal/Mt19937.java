// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.math.BigInteger;
import java.nio.ByteBuffer;

/**
 * The Mersenne Twister with 32-bit words, as defined by the C++ standard and used by PyTorch's CPU
 * generator. Not thread-safe.
 */
public final class Mt19937 {
  static final int WORDS = 624;
  static final int MIDDLE = 397;
  static final int TWIST = 0x9908b0df;

  /** The approximate number of outputs from which a jump is faster than single steps. */
  private static final BigInteger JUMP_FROM = BigInteger.ONE.shiftLeft(24);

  private static final long LOW_53_BITS = (1L << 53) - 1;
  private static final double ULP_OF_53_BITS = 0x1p-53;
  private static final int LOW_24_BITS = (1 << 24) - 1;
  private static final float ULP_OF_24_BITS = 0x1p-24f;

  private final int[] state = new int[WORDS];
  private int next = WORDS;

  /** True until the first draw; PyTorch's saved states distinguish this from a used-up block. */
  private boolean unused = true;

  /**
   * Creates a generator at the start of its stream.
   *
   * @param seed only its low 32 bits are used
   */
  public Mt19937(long seed) {
    state[0] = (int) seed;
    for (int i = 1; i < WORDS; i++) {
      state[i] = 1812433253 * (state[i - 1] ^ state[i - 1] >>> 30) + i;
    }
  }

  private Mt19937(int next, boolean unused) {
    this.next = next;
    this.unused = unused;
  }

  /**
   * Reads a generator written by {@link #write}.
   *
   * @throws IllegalArgumentException if the bytes are not the state of a generator
   */
  public static Mt19937 read(ByteBuffer bytes) {
    int left = bytes.getInt();
    int seeded = bytes.getInt();
    long next = bytes.getLong();
    boolean unused = next == 0 && left == 1;
    boolean used = next >= 1 && next <= WORDS && left == WORDS + 1 - next;
    if (seeded != 1 || !(unused || used)) {
      throw new IllegalArgumentException(
          "Invalid mt19937 state: left %d, seeded %d, next %d; save the bytes of get_state() unchanged"
              .formatted(left, seeded, next));
    }
    Mt19937 generator = new Mt19937(unused ? WORDS : (int) next, unused);
    for (int i = 0; i < WORDS; i++) {
      generator.state[i] = (int) bytes.getLong();
    }
    return generator;
  }

  /** Writes the generator as the middle of libtorch's {@code CPUGeneratorImplStateLegacy}. */
  public void write(ByteBuffer bytes) {
    bytes.putInt(WORDS + 1 - next);
    bytes.putInt(1); // seeded
    bytes.putLong(unused ? 0 : next);
    for (int word : state) {
      bytes.putLong(Integer.toUnsignedLong(word));
    }
  }

  /** Returns the next 32 bits. */
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

  /** Returns the next 32 bits as a number in [0, 2^32). */
  public long nextUnsigned() {
    return Integer.toUnsignedLong(nextInt());
  }

  /** Returns the next 64 bits: two outputs, the first in the high half. */
  public long nextLong() {
    long high = nextInt();
    return high << 32 | nextUnsigned();
  }

  /** Returns the next number in [0, 1), a multiple of 2^-53, from 64 bits. */
  public double nextDouble() {
    return (nextLong() & LOW_53_BITS) * ULP_OF_53_BITS;
  }

  /** Returns the next number in [0, 1), a multiple of 2^-24, from 32 bits. */
  public float nextFloat() {
    return (nextInt() & LOW_24_BITS) * ULP_OF_24_BITS;
  }

  /** Skips 32-bit outputs. */
  public void skip(long outputs) {
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

  /** Skips 32-bit outputs; a large number takes a time that hardly depends on the number. */
  public void skip(BigInteger outputs) {
    if (outputs.compareTo(JUMP_FROM) < 0) {
      skip(outputs.longValue());
      return;
    }
    Mt19937Jump.jump(state, outputs.subtract(BigInteger.valueOf(WORDS - next)));
    next = WORDS;
    unused = false;
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
    unused = false;
  }

  static int twist(int high, int low, int far) {
    int y = (high & 0x80000000) | (low & 0x7fffffff);
    return far ^ (y >>> 1) ^ (-(y & 1) & TWIST);
  }
}
