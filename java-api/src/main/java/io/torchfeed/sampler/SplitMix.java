// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The SplitMix64 stream of 64-bit words. Not thread-safe.
 *
 * <p>Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with the
 * finaliser that {@code java.util.SplittableRandom} uses; the bounded draw is Lemire's of 2019.
 */
final class SplitMix {
  private long state;

  /**
   * A stream that starts behind a state.
   *
   * @param state any number; near ones give far streams
   */
  SplitMix(long state) {
    this.state = state;
  }

  /** The next word. */
  long nextLong() {
    state += Mix64.GAMMA;
    return Mix64.mix(state);
  }

  /** The next number in [0, 1), a multiple of 2^-53. */
  double nextDouble() {
    return (nextLong() >>> 11) * 0x1p-53;
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
