// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/**
 * Deals the samples of one step over the ranks, a fixed number to each, so that the costs of the
 * ranks are as equal as can be. One that is used again allocates nothing. Not thread-safe.
 *
 * <p>An item is a cost and a position inside of the step in one number, so that items sort by
 * (cost, position). Ranks take turns in being favoured where sums are equal: everything happens on
 * seats 0..W-1, and seat q of step t is rank (q + t) mod W.
 */
final class StepPartition {
  /** Bits of an item that hold the position; the cost takes the others. */
  static final int POSITION_BITS = 21;

  /** The most samples of a step. */
  static final int MOST_ITEMS = 1 << POSITION_BITS;

  private static final long POSITION_MASK = MOST_ITEMS - 1;
  private static final int MOST_SWAPS = 1000;

  private final int worldSize;
  private final int[] starts; // of each seat's items in seats, and their end
  private final long[] seats;
  private final long[] sums;
  private final int[] counts;
  private final int[] heap;
  private int heapSize;
  private int bestOfHigh;
  private int bestOfLow;
  private long bestMiss;

  /** A dealer of steps of {@code worldSize * batchSize} items, at most {@link #MOST_ITEMS}. */
  StepPartition(int worldSize, int batchSize) {
    this(equalCounts(worldSize, batchSize));
  }

  /** A dealer that gives each seat the number of items that stands in {@code itemsOfSeats}. */
  StepPartition(int[] itemsOfSeats) {
    worldSize = itemsOfSeats.length;
    starts = new int[worldSize + 1];
    for (int seat = 0; seat < worldSize; seat++) {
      starts[seat + 1] = starts[seat] + itemsOfSeats[seat];
    }
    seats = new long[starts[worldSize]];
    sums = new long[worldSize];
    counts = new int[worldSize];
    heap = new int[worldSize];
  }

  static long item(long cost, int position) {
    return cost << POSITION_BITS | position;
  }

  static long cost(long item) {
    return item >>> POSITION_BITS;
  }

  static int position(long item) {
    return (int) (item & POSITION_MASK);
  }

  /** Deals by LPT with fixed counts, then repairs by swaps. The items are sorted afterwards. */
  void deal(long[] items) {
    dealLargestFirst(items);
    repair();
  }

  /**
   * LPT with fixed counts: the largest item left (ties: smallest position) goes to the seat with
   * the smallest (sum, seat) that is not full. The items are sorted afterwards.
   */
  void dealLargestFirst(long[] items) {
    Arrays.sort(items);
    Arrays.fill(sums, 0);
    Arrays.fill(counts, 0);
    heapSize = 0;
    for (int seat = 0; seat < worldSize; seat++) {
      if (starts[seat + 1] > starts[seat]) {
        heap[heapSize++] = seat;
      }
    }
    int end = items.length;
    while (end > 0) {
      int start = startOfEqualCosts(items, end - 1);
      for (int i = start; i < end; i++) {
        give(items[i]);
      }
      end = start;
    }
    sortSeats();
  }

  /** Takes a division that was made elsewhere: the items seat by seat. */
  void take(long[] itemsSeatBySeat) {
    System.arraycopy(itemsSeatBySeat, 0, seats, 0, seats.length);
    sortSeats();
    for (int seat = 0; seat < worldSize; seat++) {
      sums[seat] = 0;
      for (int i = starts[seat]; i < starts[seat + 1]; i++) {
        sums[seat] += cost(seats[i]);
      }
    }
  }

  /**
   * Swaps items between the dearest and the cheapest seat while that brings them closer, at most
   * 1000 times; each time the pair that brings them closest.
   */
  void repair() {
    for (int swap = 0; swap < MOST_SWAPS; swap++) {
      int high = 0;
      int low = 0;
      for (int seat = 1; seat < worldSize; seat++) {
        high = sums[seat] > sums[high] ? seat : high;
        low = sums[seat] < sums[low] ? seat : low;
      }
      if (sums[high] - sums[low] <= 1 || !swapBest(high, low)) {
        return;
      }
    }
  }

  /** The sum of the costs of a rank in step {@code step}. */
  long sum(int rank, long step) {
    return sums[seat(rank, step)];
  }

  /** Writes the items of a rank in step {@code step}, ascending by (cost, position). */
  void batch(int rank, long step, long[] into) {
    int seat = seat(rank, step);
    System.arraycopy(seats, starts[seat], into, 0, starts[seat + 1] - starts[seat]);
  }

  private int seat(int rank, long step) {
    return Math.floorMod(rank - step, worldSize);
  }

  private void sortSeats() {
    for (int seat = 0; seat < worldSize; seat++) {
      Arrays.sort(seats, starts[seat], starts[seat + 1]);
    }
  }

  private static int[] equalCounts(int worldSize, int batchSize) {
    int[] counts = new int[worldSize];
    Arrays.fill(counts, batchSize);
    return counts;
  }

  /** The first item with the cost of the one at {@code last}. */
  static int startOfEqualCosts(long[] items, int last) {
    int start = last;
    while (start > 0 && cost(items[start - 1]) == cost(items[last])) {
      start--;
    }
    return start;
  }

  private void give(long item) {
    int seat = heap[0];
    seats[starts[seat] + counts[seat]++] = item;
    sums[seat] += cost(item);
    if (starts[seat] + counts[seat] == starts[seat + 1]) {
      heap[0] = heap[--heapSize];
    }
    sink();
  }

  private void sink() {
    int parent = 0;
    int seat = heap[0];
    for (int child = 1; child < heapSize; child = 2 * parent + 1) {
      if (child + 1 < heapSize && before(heap[child + 1], heap[child])) {
        child++;
      }
      if (before(seat, heap[child])) {
        break;
      }
      heap[parent] = heap[child];
      parent = child;
    }
    heap[parent] = seat;
  }

  private boolean before(int seat, int other) {
    return sums[seat] < sums[other] || sums[seat] == sums[other] && seat <= other;
  }

  /**
   * Of all pairs a on the dearer, b on the cheaper seat whose difference d lies between 0 and the
   * gap, swaps the one with the smallest |2d - gap|, ties by the positions of a, then b.
   */
  private boolean swapBest(int high, int low) {
    long gap = sums[high] - sums[low];
    int startOfHigh = starts[high];
    int endOfLow = starts[low + 1];
    int below = -1; // start of the last run of equal costs at least half a gap below a
    int above = starts[low]; // start of the run after it
    bestOfHigh = -1;
    bestMiss = gap; // a swap that changes nothing
    for (int a = startOfHigh; a < starts[high + 1]; a++) {
      if (a > startOfHigh && cost(seats[a - 1]) == cost(seats[a])) {
        continue; // of equal costs the first has the smallest position
      }
      while (above < endOfLow && 2 * (cost(seats[a]) - cost(seats[above])) >= gap) {
        below = below >= 0 && cost(seats[above]) == cost(seats[below]) ? below : above;
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
    long miss = Math.abs(2 * (cost(seats[a]) - cost(seats[b])) - gap);
    if (miss < bestMiss || miss == bestMiss && bestOfHigh >= 0 && isFirst(a, b)) {
      bestOfHigh = a;
      bestOfLow = b;
      bestMiss = miss;
    }
  }

  private boolean isFirst(int a, int b) {
    int byHigh = Integer.compare(position(seats[a]), position(seats[bestOfHigh]));
    return byHigh < 0 || byHigh == 0 && position(seats[b]) < position(seats[bestOfLow]);
  }

  private void swap(int high, int low) {
    long fromHigh = seats[bestOfHigh];
    long fromLow = seats[bestOfLow];
    put(high, bestOfHigh, fromLow);
    put(low, bestOfLow, fromHigh);
    sums[high] += cost(fromLow) - cost(fromHigh);
    sums[low] += cost(fromHigh) - cost(fromLow);
  }

  /** Replaces an item of a seat, which stays sorted. */
  private void put(int seat, int at, long item) {
    int start = starts[seat];
    int end = starts[seat + 1];
    int to = at;
    for (; to > start && seats[to - 1] > item; to--) {
      seats[to] = seats[to - 1];
    }
    for (; to < end - 1 && seats[to + 1] < item; to++) {
      seats[to] = seats[to + 1];
    }
    seats[to] = item;
  }
}
