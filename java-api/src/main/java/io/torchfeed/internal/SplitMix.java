// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/**
 * The SplitMix64 stream of 64-bit words. Not thread-safe.
 *
 * <p>Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with the
 * finaliser that {@code java.util.SplittableRandom} uses; the bounded draw is Lemire's of 2019.
 */
public final class SplitMix {
  private long state;

  /**
   * Creates a stream that starts after a state.
   *
   * @param state any value; nearby states yield unrelated streams
   */
  public SplitMix(long state) {
    this.state = state;
  }

  /** Returns the next word. */
  public long nextLong() {
    state += Hash64.GAMMA;
    return Hash64.mix(state);
  }

  /** Returns the next number in [0, 1), a multiple of 2^-53. */
  public double nextDouble() {
    return (nextLong() >>> 11) * 0x1p-53;
  }

  /**
   * Returns the next number in [0, range), each equally likely.
   *
   * @param range at least 1
   */
  public long nextBelow(long range) {
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
