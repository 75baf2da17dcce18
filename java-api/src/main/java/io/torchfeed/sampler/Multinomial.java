// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/** {@code torch.multinomial} of torch 2.10.0 on the CPU, for one row of doubles. */
final class Multinomial {
  /** The most weights that torch takes. */
  static final int MOST_WEIGHTS = 1 << 24;

  private static final int INDEX_BITS = 24;
  private static final long INDEX_MASK = MOST_WEIGHTS - 1;

  private Multinomial() {}

  /** Whether torch draws from the running sums. */
  static boolean drawsFromSums(Replacement replacement, long count) {
    return replacement == Replacement.WITH && count > 1;
  }

  /** How many outputs of the generator {@code count} draws take. */
  static long outputs(Replacement replacement, long count, int weights) {
    return 2 * (drawsFromSums(replacement, count) ? count : weights);
  }

  /** Turns weights into their running sums, divided by the total. */
  static void accumulate(double[] weights) {
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      sum += weights[i];
      weights[i] = sum;
    }
    for (int i = 0; i < weights.length; i++) {
      weights[i] /= sum;
    }
    weights[weights.length - 1] = 1;
  }

  /** Draws with replacement, from what {@link #accumulate} made. */
  static void withReplacement(double[] sums, int[] into, Mt19937 generator) {
    for (int i = 0; i < into.length; i++) {
      into[i] = firstAtLeast(sums, generator.nextDouble());
    }
  }

  private static int firstAtLeast(double[] sums, double value) {
    int left = 0;
    int right = sums.length;
    while (right > left) {
      int middle = left + (right - left) / 2;
      if (sums[middle] < value) {
        left = middle + 1;
      } else {
        right = middle;
      }
    }
    return left;
  }

  /** Draws without replacement: the largest of weight over exponential noise, in that order. */
  static void withoutReplacement(double[] weights, int[] into, Mt19937 generator) {
    long[] ranks = new long[weights.length];
    for (int i = 0; i < ranks.length; i++) {
      double noise = -StrictMath.log1p(-generator.nextDouble());
      ranks[i] = rank(weights[i], weights[i] / noise);
    }
    long[] order = sorted(ranks);
    for (int i = 0; i < into.length; i++) {
      into[i] = (int) (order[i] & INDEX_MASK);
    }
  }

  /** A number that is smaller for larger scores, and largest for a weight of 0. */
  private static long rank(double weight, double score) {
    return weight == 0 ? Long.MAX_VALUE : Long.MAX_VALUE - 1 - Double.doubleToRawLongBits(score);
  }

  /**
   * The positions of the ranks in ascending order, equal ones by position, in the low bits. The
   * high bits sort first; where they are equal, the low bits of the ranks take their place.
   */
  private static long[] sorted(long[] ranks) {
    long[] order = new long[ranks.length];
    for (int i = 0; i < order.length; i++) {
      order[i] = (ranks[i] & ~INDEX_MASK) | i;
    }
    Arrays.sort(order);
    int start = 0;
    for (int i = 1; i <= order.length; i++) {
      if (i == order.length || order[i] >>> INDEX_BITS != order[start] >>> INDEX_BITS) {
        sortByLowBits(order, start, i, ranks);
        start = i;
      }
    }
    return order;
  }

  private static void sortByLowBits(long[] order, int start, int end, long[] ranks) {
    if (end - start == 1) {
      return;
    }
    for (int i = start; i < end; i++) {
      long index = order[i] & INDEX_MASK;
      order[i] = ((ranks[(int) index] & INDEX_MASK) << INDEX_BITS) | index;
    }
    Arrays.sort(order, start, end);
  }
}
