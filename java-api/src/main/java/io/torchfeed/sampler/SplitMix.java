// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The SplitMix64 stream of 64-bit words, and its finaliser as a mixing function. Not thread-safe.
 *
 * <p>Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with the
 * finaliser that {@code java.util.SplittableRandom} uses; the bounded draw is Lemire's of 2019.
 */
final class SplitMix {
  /** The odd number by which the state advances. */
  static final long GAMMA = 0x9E3779B97F4A7C15L;

  private long state;

  /**
   * A stream that starts behind a state.
   *
   * @param state any number; near ones give far streams
   */
  SplitMix(long state) {
    this.state = state;
  }

  /** The finaliser: a bijection of 64-bit words. */
  static long mix64(long word) {
    long z = (word ^ word >>> 30) * 0xBF58476D1CE4E5B9L;
    z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
    return z ^ z >>> 31;
  }

  /** The next word. */
  long nextLong() {
    state += GAMMA;
    return mix64(state);
  }

  /**
   * The next number in [0, range), each equally likely.
   *
   * @param range at least 1
   */
  long nextBelow(long range) {
    long word = nextLong();
    long low = word * range;
    if (Long.compareUnsigned(low, range) < 0) {
      long surplus = Long.remainderUnsigned(-range, range);
      while (Long.compareUnsigned(low, surplus) < 0) {
        word = nextLong();
        low = word * range;
      }
    }
    return Math.multiplyHigh(word, range) + ((word >> 63) & range);
  }
}
