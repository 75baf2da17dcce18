// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.internal.Mt19937;

/**
 * {@code std::shuffle} with {@code std::mt19937} as implemented by libstdc++ 11 and later: the
 * order of libtorch's {@code DistributedRandomSampler} on Linux, in pure Java.
 *
 * <p>The standard does not specify how {@code std::shuffle} draws; other libraries differ.
 */
final class LibtorchShuffle {
  private static final long RANGE = 1L << 32;

  /** The maximum length for which libstdc++ takes two positions from one draw. */
  private static final int MAX_OF_PAIRS = 65_535;

  private LibtorchShuffle() {}

  /**
   * Returns the shuffled list 0..length-1.
   *
   * @param length at least 0
   * @param epoch the seed; only its low 32 bits are used
   */
  static int[] shuffled(int length, long epoch) {
    int[] list = new int[length];
    for (int i = 0; i < length; i++) {
      list[i] = i;
    }
    if (length > MAX_OF_PAIRS) {
      shuffleOneByOne(list, new Mt19937(epoch));
    } else if (length > 1) {
      shuffleByPairs(list, new Mt19937(epoch));
    }
    return list;
  }

  private static void shuffleOneByOne(int[] list, Mt19937 generator) {
    for (int i = 1; i < list.length; i++) {
      swap(list, i, (int) draw(generator, i + 1L));
    }
  }

  private static void shuffleByPairs(int[] list, Mt19937 generator) {
    int i = 1;
    if (list.length % 2 == 0) {
      swap(list, 1, (int) draw(generator, 2));
      i = 2;
    }
    for (; i < list.length; i += 2) {
      long pair = draw(generator, (i + 1L) * (i + 2L));
      swap(list, i, (int) (pair / (i + 2)));
      swap(list, i + 1, (int) (pair % (i + 2)));
    }
  }

  /** Draws a number in [0, range), range at most 2^32: Lemire's multiplication with rejection. */
  private static long draw(Mt19937 generator, long range) {
    long product = generator.nextUnsigned() * range;
    long low = product & RANGE - 1;
    if (low < range) {
      long threshold = (RANGE - range) % range;
      while (low < threshold) {
        product = generator.nextUnsigned() * range;
        low = product & RANGE - 1;
      }
    }
    return product >>> 32;
  }

  private static void swap(int[] list, int i, int j) {
    int value = list[i];
    list[i] = list[j];
    list[j] = value;
  }
}
