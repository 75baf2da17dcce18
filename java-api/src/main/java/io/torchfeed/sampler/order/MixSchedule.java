// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.cursor.PlanChecks;
import java.util.Arrays;

/**
 * A schedule of draws from several sources with integer weights: one source per position.
 *
 * <p>Draw k of a source of weight w is scheduled at time (2k+1)/2w; draws come in order of time,
 * those at equal times by ascending source (the divisor method of Webster and Sainte-Laguë). Times
 * are compared as fractions, so nothing is rounded, and the schedule repeats after as many
 * positions as the sum of the weights. Immutable.
 */
final class MixSchedule {
  /** The maximum sum of weights: products of two weights and a small factor must fit a long. */
  static final long MAX_SUM = 1L << 30;

  private final long[] weights;
  private final long period;

  /** Creates a schedule from weights of at least 1 that sum to at most {@link #MAX_SUM}. */
  MixSchedule(long[] weights) {
    this.weights = weights;
    long sum = 0;
    for (long weight : weights) {
      sum += weight;
    }
    this.period = sum;
  }

  /**
   * Returns the position of draw {@code draw} of a source, or {@link PlanChecks#MAX_SIZE} if that
   * is less.
   */
  long positionOf(int source, long draw) {
    long weight = weights[source];
    long inPeriod = draw % weight;
    long before = 0;
    for (int other = 0; other < weights.length; other++) {
      // Draws m of the other source with (2m+1)/2w' < (2k+1)/2w, or equal if it comes first.
      long due = (2 * inPeriod + 1) * weights[other];
      long limit = other < source ? due / weight : (due - 1) / weight;
      before += (limit + 1) / 2;
    }
    long periods = draw / weight;
    return periods > (PlanChecks.MAX_SIZE - before) / period
        ? PlanChecks.MAX_SIZE
        : periods * period + before;
  }

  Place at(long position) {
    return new Place(position);
  }

  /** A position with the number of earlier draws from each source. Not thread-safe. */
  final class Place {
    private final long[] drawn = new long[weights.length];
    private long periodsBefore;
    private long inPeriod;

    private Place(long position) {
      moveTo(position);
    }

    /** Moves to a position, step by step if it is near, otherwise in O(k^2) for k sources. */
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

    /** Returns the source that the position draws from. */
    int source() {
      int first = 0;
      for (int i = 1; i < weights.length; i++) {
        if ((2 * drawn[i] + 1) * weights[first] < (2 * drawn[first] + 1) * weights[i]) {
          first = i;
        }
      }
      return first;
    }

    /** Returns the number of draws from a source before the position. */
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
        // The draws scheduled up to the time inPeriod / period: close to the exact counts.
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

    /** Returns the source whose last draw was scheduled last; the highest one in a tie. */
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
