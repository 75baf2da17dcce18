// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/**
 * Random words by number: the SplitMix64 stream of a key, read at any position, so that a draw is a
 * function of its position.
 */
public final class CounterRandom {
  private static final double ULP = 0x1.0p-53;

  private CounterRandom() {}

  /**
   * Returns the key of an epoch; seed, epoch and purpose (salt) are mixed rather than merely added.
   */
  public static long key(long salt, long seed, long epoch) {
    return Hash64.mix(Hash64.mix(seed ^ salt) + epoch * Hash64.GAMMA + 1);
  }

  /** Returns the seed of one of the streams of a plan. */
  public static long seedOf(long seed, long stream) {
    return Hash64.mix(seed + stream * Hash64.GAMMA);
  }

  public static long word(long key, long number) {
    return Hash64.mix(key + (number + 1) * Hash64.GAMMA);
  }

  /**
   * Returns a number in [0, range) from one word. There is no rejection, since a draw has only one
   * word: for a range below 2^31, no value is likelier than another by more than 2^-33 of its
   * probability.
   */
  public static long below(long word, long range) {
    return Math.multiplyHigh(word, range) + (word >> 63 & range);
  }

  /** Returns a double in [0, 1) from the upper 53 bits of a word. */
  public static double unit(long word) {
    return (word >>> 11) * ULP;
  }

  /** Returns a double in (0, 1] from the upper 53 bits of a word. */
  public static double positiveUnit(long word) {
    return ((word >>> 11) + 1) * ULP;
  }
}
