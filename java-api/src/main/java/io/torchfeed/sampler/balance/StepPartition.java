// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.Arrays;

/**
 * A partition of the samples of one step over the ranks, with equal counts and with costs as equal
 * as possible. Reuse allocates nothing. Not thread-safe.
 *
 * <p>An item packs a cost and a position within the step into one number, so that items sort by
 * (cost, position). The slots 0..W-1 are assigned to ranks elsewhere.
 */
final class StepPartition {
  /** The number of bits of an item that hold the position; the cost takes the rest. */
  static final int POSITION_BITS = 21;

  /** The maximum number of samples in a step. */
  static final int MAX_ITEMS = 1 << POSITION_BITS;

  private static final long POSITION_MASK = MAX_ITEMS - 1;
  private static final int MAX_SWAPS = 1000;

  private final int worldSize;
  private final int batchSize;
  private final long[] shares;
  private final long[] sums;
  private final int[] counts;
  private final int[] heap;
  private int heapSize;
  private int bestOfHigh;
  private int bestOfLow;
  private long bestMiss;

  /**
   * Creates a partition for steps of {@code worldSize * batchSize} items, at most {@link
   * #MAX_ITEMS}.
   */
  StepPartition(int worldSize, int batchSize) {
    this.worldSize = worldSize;
    this.batchSize = batchSize;
    shares = new long[worldSize * batchSize];
    sums = new long[worldSize];
    counts = new int[worldSize];
    heap = new int[worldSize];
  }

  static long item(long cost, int position) {
    return (cost << POSITION_BITS) | position;
  }

  static long cost(long item) {
    return item >>> POSITION_BITS;
  }

  static int position(long item) {
    return (int) (item & POSITION_MASK);
  }

  /**
   * Assigns by LPT with equal counts: the largest item left (ties: smallest position) goes to the
   * slot with the smallest (sum, slot) that is not full. Leaves {@code items} sorted.
   */
  void assignLargestFirst(long[] items) {
    Arrays.sort(items);
    Arrays.fill(sums, 0);
    Arrays.fill(counts, 0);
    heapSize = worldSize;
    for (int share = 0; share < worldSize; share++) {
      heap[share] = share;
    }
    int end = items.length;
    while (end > 0) {
      int start = startOfEqualCosts(items, end - 1);
      for (int i = start; i < end; i++) {
        give(items[i]);
      }
      end = start;
    }
    sortShares();
  }

  /**
   * Swaps items between the most and the least expensive slot while that brings them closer, at
   * most 1000 times; each time the pair that brings them closest.
   */
  void repair() {
    for (int swap = 0; swap < MAX_SWAPS; swap++) {
      int high = 0;
      int low = 0;
      for (int share = 1; share < worldSize; share++) {
        high = sums[share] > sums[high] ? share : high;
        low = sums[share] < sums[low] ? share : low;
      }
      if (sums[high] - sums[low] <= 1 || !swapBest(high, low)) {
        return;
      }
    }
  }

  /** Returns the sum of the costs of a slot. */
  long sum(int share) {
    return sums[share];
  }

  /** Writes the items of a slot, ascending by (cost, position). */
  void copy(int share, long[] into) {
    System.arraycopy(shares, share * batchSize, into, 0, batchSize);
  }

  private void sortShares() {
    for (int share = 0; share < worldSize; share++) {
      Arrays.sort(shares, share * batchSize, (share + 1) * batchSize);
    }
  }

  /** Returns the index of the first item with the same cost as the one at {@code last}. */
  private static int startOfEqualCosts(long[] items, int last) {
    int start = last;
    while (start > 0 && cost(items[start - 1]) == cost(items[last])) {
      start--;
    }
    return start;
  }

  private void give(long item) {
    int share = heap[0];
    shares[(share + 1) * batchSize - ++counts[share]] = item; // from the end: nearly sorted
    sums[share] += cost(item);
    if (counts[share] == batchSize) {
      heap[0] = heap[--heapSize];
    }
    sink();
  }

  private void sink() {
    int parent = 0;
    int share = heap[0];
    for (int child = 1; child < heapSize; child = 2 * parent + 1) {
      if (child + 1 < heapSize && before(heap[child + 1], heap[child])) {
        child++;
      }
      if (before(share, heap[child])) {
        break;
      }
      heap[parent] = heap[child];
      parent = child;
    }
    heap[parent] = share;
  }

  private boolean before(int share, int other) {
    return sums[share] < sums[other] || (sums[share] == sums[other] && share <= other);
  }

  /**
   * Swaps the best pair of an item a on the more expensive and an item b on the cheaper slot: of
   * those whose difference d lies between 0 and the gap, the one with the smallest |2d - gap|, ties
   * by the positions of a, then b.
   */
  private boolean swapBest(int high, int low) {
    long gap = sums[high] - sums[low];
    int startOfHigh = high * batchSize;
    int endOfLow = (low + 1) * batchSize;
    int below = -1; // start of the last run of equal costs at least half a gap below a
    int above = low * batchSize; // start of the run after it
    bestOfHigh = -1;
    bestMiss = gap; // a swap that changes nothing
    for (int a = startOfHigh; a < (high + 1) * batchSize; a++) {
      if (a > startOfHigh && cost(shares[a - 1]) == cost(shares[a])) {
        continue; // among equal costs the first has the smallest position
      }
      while (above < endOfLow && 2 * (cost(shares[a]) - cost(shares[above])) >= gap) {
        below = below >= 0 && cost(shares[above]) == cost(shares[below]) ? below : above;
        above++;
      }
      if (below >= 0) {
        consider(a, below, gap);
      }
      if (above < endOfLow) {
        consider(a, above, gap);
      }
    }
    if (bestOfHigh < 0) {
      return false;
    }
    swap(high, low);
    return true;
  }

  private void consider(int a, int b, long gap) {
    long miss = Math.abs(2 * (cost(shares[a]) - cost(shares[b])) - gap);
    if (miss < bestMiss || (miss == bestMiss && bestOfHigh >= 0 && isFirst(a, b))) {
      bestOfHigh = a;
      bestOfLow = b;
      bestMiss = miss;
    }
  }

  private boolean isFirst(int a, int b) {
    int byHigh = Integer.compare(position(shares[a]), position(shares[bestOfHigh]));
    return byHigh < 0 || (byHigh == 0 && position(shares[b]) < position(shares[bestOfLow]));
  }

  private void swap(int high, int low) {
    long fromHigh = shares[bestOfHigh];
    long fromLow = shares[bestOfLow];
    put(high, bestOfHigh, fromLow);
    put(low, bestOfLow, fromHigh);
    sums[high] += cost(fromLow) - cost(fromHigh);
    sums[low] += cost(fromHigh) - cost(fromLow);
  }

  /** Replaces an item of a slot, which stays sorted. */
  private void put(int share, int at, long item) {
    int start = share * batchSize;
    int end = (share + 1) * batchSize;
    int to = at;
    for (; to > start && shares[to - 1] > item; to--) {
      shares[to] = shares[to - 1];
    }
    for (; to < end - 1 && shares[to + 1] < item; to++) {
      shares[to] = shares[to + 1];
    }
    shares[to] = item;
  }
}
