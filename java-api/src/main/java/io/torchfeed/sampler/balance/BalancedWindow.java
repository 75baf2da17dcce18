// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.Arrays;
import java.util.Comparator;

/**
 * A planned window of steps: the positions, in the rest of an epoch, that each rank has in each
 * step. Immutable.
 */
final class BalancedWindow {
  private final long number;
  private final int worldSize;
  private final int batchSize;
  private final int[] cells; // positions within the window: step by step, rank by rank
  private final int[] samples;
  private final long firstPosition;

  /**
   * Assigns the shares of each group to ranks, so that the totals of the ranks over all steps stay
   * close: the most expensive share goes to the rank with the smallest total so far. Ranks with
   * equal totals take turns: in step t rank r is number (r - t) mod W.
   *
   * @param groups the groups, divided into shares
   * @param groupOfStep the group of each step of the window
   * @param samples the dataset index at each position within the window
   */
  BalancedWindow(
      long number, AssignedSteps groups, int[] groupOfStep, long firstStep, int[] samples) {
    this.number = number;
    this.samples = samples;
    worldSize = groups.worldSize();
    batchSize = groups.batchSize();
    firstPosition = firstStep * worldSize * batchSize;
    cells = new int[groupOfStep.length * worldSize * batchSize];
    long[] totals = new long[worldSize];
    Integer[] shares = numbers();
    Integer[] ranks = numbers();
    for (int step = 0; step < groupOfStep.length; step++) {
      int group = groupOfStep[step];
      long globalStep = firstStep + step;
      Arrays.sort(
          shares,
          Comparator.<Integer>comparingLong(share -> -groups.sum(group, share))
              .thenComparing(Comparator.naturalOrder()));
      Arrays.sort(
          ranks,
          Comparator.<Integer>comparingLong(rank -> totals[rank])
              .thenComparingInt(rank -> Math.floorMod(rank - globalStep, worldSize)));
      for (int i = 0; i < worldSize; i++) {
        int start = start(step, ranks[i]);
        groups.copy(group, shares[i], cells, start);
        Arrays.sort(cells, start, start + batchSize);
        totals[ranks[i]] += groups.sum(group, shares[i]);
      }
    }
  }

  /** Returns the number of the window in its plan. */
  long number() {
    return number;
  }

  /** Returns the position of the first sample of the window, in the rest of the epoch. */
  long firstPosition() {
    return firstPosition;
  }

  /** Returns the number of positions. */
  int size() {
    return cells.length;
  }

  /** Returns the dataset index at a position within the window. */
  long sampleAt(int position) {
    return samples[position];
  }

  /** Returns a position within the window. */
  int at(int step, int rank, int element) {
    return cells[start(step, rank) + element];
  }

  /**
   * Returns the positions that are not delivered, ascending.
   *
   * @param deliveredByEachRank number of indices of the window that each rank has delivered
   */
  int[] without(int deliveredByEachRank) {
    int[] left = new int[cells.length - deliveredByEachRank * worldSize];
    int count = 0;
    for (int i = 0; i < cells.length; i++) {
      int step = i / (worldSize * batchSize);
      if (step * batchSize + i % batchSize >= deliveredByEachRank) {
        left[count++] = cells[i];
      }
    }
    Arrays.sort(left);
    return left;
  }

  private int start(int step, int rank) {
    return (step * worldSize + rank) * batchSize;
  }

  private Integer[] numbers() {
    Integer[] numbers = new Integer[worldSize];
    Arrays.setAll(numbers, i -> i);
    return numbers;
  }
}
