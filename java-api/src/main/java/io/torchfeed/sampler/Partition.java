// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.stream.IntStream;

/**
 * Divisions of a few costs into sets of nearly equal sums. Steps of a plan go through {@link
 * StepPartition} itself, which allocates nothing.
 *
 * <p>A division is an array of sets; a set is the positions of its costs, ascending.
 */
final class Partition {
  private Partition() {}

  /** LPT with equal counts, see {@link StepPartition#dealLargestFirst}. */
  static int[][] largestFirst(long[] costs, int sets, long step) {
    StepPartition partition = new StepPartition(sets, costs.length / sets);
    partition.dealLargestFirst(items(costs, IntStream.range(0, costs.length)));
    return divided(partition, equalCounts(costs, sets), step);
  }

  /**
   * LPT with free counts: the largest cost left (ties: smallest position) goes to the set with the
   * smallest (sum, (set - step) mod sets).
   */
  static int[][] largestFirstFree(long[] costs, int sets, long step) {
    record Seat(long sum, int number) {}
    PriorityQueue<Seat> seats =
        new PriorityQueue<>(Comparator.comparingLong(Seat::sum).thenComparingInt(Seat::number));
    IntStream.range(0, sets).forEach(seat -> seats.add(new Seat(0, seat)));
    int[] setOf = new int[costs.length];
    long[] items = items(costs, IntStream.range(0, costs.length));
    Arrays.sort(items);
    for (int end = items.length; end > 0; ) {
      int start = StepPartition.startOfEqualCosts(items, end - 1);
      for (int i = start; i < end; i++) {
        Seat seat = seats.remove();
        setOf[StepPartition.position(items[i])] = Math.floorMod(seat.number() + step, sets);
        seats.add(new Seat(seat.sum() + StepPartition.cost(items[i]), seat.number()));
      }
      end = start;
    }
    return IntStream.range(0, sets)
        .mapToObj(set -> IntStream.range(0, setOf.length).filter(i -> setOf[i] == set).toArray())
        .toArray(int[][]::new);
  }

  /** Swap repair of any division, see {@link StepPartition#repair}; counts stay as they are. */
  static int[][] repaired(long[] costs, int[][] division, long step) {
    int sets = division.length;
    int[][] bySeat = new int[sets][];
    for (int set = 0; set < sets; set++) {
      bySeat[Math.floorMod(set - step, sets)] = division[set];
    }
    int[] counts = Arrays.stream(bySeat).mapToInt(set -> set.length).toArray();
    StepPartition partition = new StepPartition(counts);
    partition.take(items(costs, Arrays.stream(bySeat).flatMapToInt(Arrays::stream)));
    partition.repair();
    return divided(partition, counts, step);
  }

  private static int[][] divided(StepPartition partition, int[] countsOfSeats, long step) {
    int sets = countsOfSeats.length;
    int[][] division = new int[sets][];
    for (int set = 0; set < sets; set++) {
      long[] items = new long[countsOfSeats[Math.floorMod(set - step, sets)]];
      partition.batch(set, step, items);
      division[set] = Arrays.stream(items).mapToInt(StepPartition::position).sorted().toArray();
    }
    return division;
  }

  private static int[] equalCounts(long[] costs, int sets) {
    return IntStream.range(0, sets).map(set -> costs.length / sets).toArray();
  }

  private static long[] items(long[] costs, IntStream positions) {
    return positions.mapToLong(i -> StepPartition.item(costs[i], i)).toArray();
  }
}
