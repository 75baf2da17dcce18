// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * Random words by number: the SplitMix64 stream of a key, read at any place, so that a draw is a
 * function of its position.
 */
final class CounterRandom {
  private static final long GAMMA = 0x9E3779B97F4A7C15L;
  private static final double ULP = 0x1.0p-53;

  private CounterRandom() {}

  static long mix64(long value) {
    long z = (value ^ value >>> 30) * 0xBF58476D1CE4E5B9L;
    z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
    return z ^ z >>> 31;
  }

  /** The key of an epoch: neither seed and epoch nor two purposes (salts) are merely added. */
  static long key(long salt, long seed, long epoch) {
    return mix64(mix64(seed ^ salt) + epoch * GAMMA + 1);
  }

  /** The seed of one of many streams of a plan. */
  static long seedOf(long seed, long stream) {
    return mix64(seed + stream * GAMMA);
  }

  static long word(long key, long number) {
    return mix64(key + (number + 1) * GAMMA);
  }

  /** One step of a digest. */
  static long fold(long digest, long field) {
    return mix64((digest ^ field) + GAMMA);
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
