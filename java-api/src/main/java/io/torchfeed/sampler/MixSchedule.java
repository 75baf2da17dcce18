// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/**
 * Which of several sources each position draws from, by whole-numbered weights.
 *
 * <p>Draw k of a source of weight w falls due at (2k+1)/2w; draws come as they fall due, equal ones
 * by ascending source (the divisor method of Webster and Sainte-Laguë). Times are compared as
 * fractions, so nothing is rounded, and the schedule repeats after as many positions as the weights
 * sum up to. Immutable.
 */
final class MixSchedule {
  /** Products of two weights and a small factor must fit a long. */
  static final long LARGEST_SUM = 1L << 30;

  private final long[] weights;
  private final long period;

  /** A schedule of weights of at least 1 that sum up to {@link #LARGEST_SUM} at most. */
  MixSchedule(long[] weights) {
    this.weights = weights;
    long sum = 0;
    for (long weight : weights) {
      sum += weight;
    }
    this.period = sum;
  }

  /** The position of draw {@code draw} of a source; {@link Orders#LONGEST} if it is not less. */
  long positionOf(int source, long draw) {
    long weight = weights[source];
    long inPeriod = draw % weight;
    long before = 0;
    for (int other = 0; other < weights.length; other++) {
      // Draws m of the other source with (2m+1)/2w' < (2k+1)/2w, or equal to it and w' earlier.
      long due = (2 * inPeriod + 1) * weights[other];
      long limit = other < source ? due / weight : (due - 1) / weight;
      before += (limit + 1) / 2;
    }
    long periods = draw / weight;
    return periods > (Orders.LONGEST - before) / period
        ? Orders.LONGEST
        : periods * period + before;
  }

  Place at(long position) {
    return new Place(position);
  }

  /** A position and how often each source was drawn before it. Not thread-safe. */
  final class Place {
    private final long[] drawn = new long[weights.length];
    private long periodsBefore;
    private long inPeriod;

    private Place(long position) {
      moveTo(position);
    }

    /** Goes to a position, step by step where that is near, else in O(k^2) for k sources. */
    void moveTo(long position) {
      long ahead = position - (periodsBefore * period + inPeriod);
      if (ahead < 0 || ahead > weights.length) {
        jump(position);
        return;
      }
      for (long i = 0; i < ahead; i++) {
        step();
      }
    }

    /** The source that the position draws from. */
    int source() {
      int first = 0;
      for (int i = 1; i < weights.length; i++) {
        if ((2 * drawn[i] + 1) * weights[first] < (2 * drawn[first] + 1) * weights[i]) {
          first = i;
        }
      }
      return first;
    }

    /** How often a source was drawn before the position. */
    long drawn(int source) {
      return periodsBefore * weights[source] + drawn[source];
    }

    private void step() {
      drawn[source()]++;
      inPeriod++;
      if (inPeriod == period) {
        inPeriod = 0;
        periodsBefore++;
        Arrays.fill(drawn, 0);
      }
    }

    private void jump(long position) {
      periodsBefore = position / period;
      inPeriod = position % period;
      long sum = 0;
      for (int i = 0; i < drawn.length; i++) {
        // The draws due up to the time inPeriod / period: near what is asked for.
        drawn[i] = (2 * inPeriod * weights[i] + period) / (2 * period);
        sum += drawn[i];
      }
      for (; sum < inPeriod; sum++) {
        drawn[source()]++;
      }
      for (; sum > inPeriod; sum--) {
        drawn[latest()]--;
      }
    }

    /** The source whose last draw fell due last, of equal ones the last. */
    private int latest() {
      int last = 0;
      for (int i = 1; i < weights.length; i++) {
        if ((2 * drawn[i] - 1) * weights[last] >= (2 * drawn[last] - 1) * weights[i]) {
          last = i;
        }
      }
      return last;
    }
  }
}
