// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Mt19937;
import java.util.Arrays;

/** {@code torch.multinomial} of torch 2.10.0 on the CPU, for one row of doubles. */
final class Multinomial {
  /** The maximum number of weights that torch accepts. */
  static final int MAX_WEIGHTS = 1 << 24;

  private static final int INDEX_BITS = 24;
  private static final long INDEX_MASK = MAX_WEIGHTS - 1;

  private Multinomial() {}

  static void requireWeights(double[] weights) {
    if (weights.length < 1 || weights.length > MAX_WEIGHTS) {
      throw new IllegalArgumentException(
          "the number of weights must be in [1, %d], the limit of torch.multinomial, got %d"
              .formatted(MAX_WEIGHTS, weights.length));
    }
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      if (!(weights[i] >= 0) || weights[i] == Double.POSITIVE_INFINITY) {
        throw new IllegalArgumentException(
            "weights must be finite and at least 0, got %s at position %d"
                .formatted(weights[i], i));
      }
      sum += weights[i];
    }
    if (!(sum > 0 && sum < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "the sum of weights must be finite and greater than 0, got " + sum);
    }
  }

  static void requireSamples(long numSamples, int weights, boolean replacement) {
    Checks.requireSamples(numSamples);
    if (!replacement && numSamples > weights) {
      throw new IllegalArgumentException(
          "numSamples must be at most the number of weights (%d) without replacement, got %d"
              .formatted(weights, numSamples));
    }
  }

  /** Returns whether torch draws from the running sums. */
  static boolean drawsFromSums(boolean replacement, long count) {
    return replacement && count > 1;
  }

  /** Returns the number of outputs of the generator that {@code count} draws consume. */
  static long outputs(boolean replacement, long count, int weights) {
    return 2 * (drawsFromSums(replacement, count) ? count : weights);
  }

  /** Fills {@code into} with draws. */
  static void draw(double[] weights, boolean replacement, int[] into, Mt19937 generator) {
    if (drawsFromSums(replacement, into.length)) {
      withReplacement(runningSums(weights), into, generator);
    } else {
      withoutReplacement(weights, into, generator);
    }
  }

  /** Returns the running sums of weights, divided by the total. */
  private static double[] runningSums(double[] weights) {
    double[] sums = new double[weights.length];
    double sum = 0;
    for (int i = 0; i < sums.length; i++) {
      sum += weights[i];
      sums[i] = sum;
    }
    for (int i = 0; i < sums.length; i++) {
      sums[i] /= sum;
    }
    sums[sums.length - 1] = 1;
    return sums;
  }

  /** Draws with replacement, from the sums that {@link #runningSums} computed. */
  private static void withReplacement(double[] sums, int[] into, Mt19937 generator) {
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

  /**
   * Draws without replacement: the largest ratios of weight to exponential noise, in that order.
   */
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

  /** Returns a number that is smaller for larger scores, and largest for a weight of 0. */
  private static long rank(double weight, double score) {
    return weight == 0 ? Long.MAX_VALUE : Long.MAX_VALUE - 1 - Double.doubleToRawLongBits(score);
  }

  /**
   * Returns the positions of the ranks in ascending order, ties by position, in the low bits. The
   * high bits are sorted first; where they are equal, the low bits of the ranks take their place.
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
