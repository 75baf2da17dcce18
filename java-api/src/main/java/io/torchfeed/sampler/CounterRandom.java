// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * Random words by number: the SplitMix64 stream of a key, read at any place, so that a draw is a
 * function of its position.
 */
final class CounterRandom {
  private static final double ULP = 0x1.0p-53;

  private CounterRandom() {}

  /** The key of an epoch: neither seed and epoch nor two purposes (salts) are merely added. */
  static long key(long salt, long seed, long epoch) {
    return Mix64.mix(Mix64.mix(seed ^ salt) + epoch * Mix64.GAMMA + 1);
  }

  /** The seed of one of many streams of a plan. */
  static long seedOf(long seed, long stream) {
    return Mix64.mix(seed + stream * Mix64.GAMMA);
  }

  static long word(long key, long number) {
    return Mix64.mix(key + (number + 1) * Mix64.GAMMA);
  }

  /**
   * A number in [0, range) out of one word. Without rejection, since a draw has one word only: for
   * a range below 2^31 no value is likelier than another by more than 2^-33 of its probability.
   */
  static long below(long word, long range) {
    return Math.multiplyHigh(word, range) + (word >> 63 & range);
  }

  /** A double in [0, 1) out of the upper 53 bits of a word. */
  static double unit(long word) {
    return (word >>> 11) * ULP;
  }

  /** A double in (0, 1] out of the upper 53 bits of a word. */
  static double positiveUnit(long word) {
    return ((word >>> 11) + 1) * ULP;
  }
}
