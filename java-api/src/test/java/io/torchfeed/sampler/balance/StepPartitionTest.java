// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Tests of the partition of a step against a naive implementation of the rules. */
class StepPartitionTest {
  private static final long[] TWELVE = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 11};
  private static final long[] HEAVY = {100, 1, 2, 3, 4, 5, 6, 7};

  @Test
  void theWorkedExampleOfThreeRanksIsReproduced() {
    assertThat(largestFirst(TWELVE, 3, true))
        .isDeepEqualTo(new int[][] {{3, 4, 9, 11}, {2, 5, 8, 10}, {0, 1, 6, 7}});
  }

  @Test
  void aHeavyTailStaysUneven() {
    assertThat(sums(HEAVY, largestFirst(HEAVY, 2, false))).containsExactly(106, 22);
  }

  @Property(tries = 300)
  void thePartitionEqualsANaiveImplementation(
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll @IntRange(min = 1, max = 12) int batchSize,
      @ForAll @IntRange(min = 1, max = 2_000) int costLimit,
      @ForAll long seed) {
    long[] costs = randomCosts(worldSize * batchSize, costLimit, seed);
    int[][] expected = slowLargestFirst(costs, worldSize, batchSize);
    assertThat(largestFirst(costs, worldSize, false)).isDeepEqualTo(expected);
    assertThat(largestFirst(costs, worldSize, true)).isDeepEqualTo(slowRepair(costs, expected));
  }

  private static int[][] largestFirst(long[] costs, int worldSize, boolean repaired) {
    int batchSize = costs.length / worldSize;
    StepPartition partition = new StepPartition(worldSize, batchSize);
    partition.assignLargestFirst(items(costs));
    if (repaired) {
      partition.repair();
    }
    return division(partition, worldSize, batchSize);
  }

  private static int[][] division(StepPartition partition, int worldSize, int batchSize) {
    int[][] division = new int[worldSize][];
    for (int share = 0; share < worldSize; share++) {
      long[] items = new long[batchSize];
      partition.copy(share, items);
      assertThat(items).isSorted();
      assertThat(partition.sum(share))
          .isEqualTo(Arrays.stream(items).map(StepPartition::cost).sum());
      division[share] = Arrays.stream(items).mapToInt(StepPartition::position).sorted().toArray();
    }
    return division;
  }

  private static long[] items(long[] costs) {
    return IntStream.range(0, costs.length)
        .mapToLong(i -> StepPartition.item(costs[i], i))
        .toArray();
  }

  private static long[] randomCosts(int count, int limit, long seed) {
    return new Random(seed).longs(count, 0, limit).toArray();
  }

  private static int[][] slowLargestFirst(long[] costs, int worldSize, int batchSize) {
    int[] rankOf = new int[costs.length];
    long[] sums = new long[worldSize];
    int[] counts = new int[worldSize];
    Integer[] order = IntStream.range(0, costs.length).boxed().toArray(Integer[]::new);
    Arrays.sort(order, (a, b) -> Long.compare(costs[b], costs[a]));
    for (int position : order) {
      int best = -1;
      for (int rank = 0; rank < worldSize; rank++) {
        if (counts[rank] < batchSize && (best < 0 || sums[rank] < sums[best])) {
          best = rank;
        }
      }
      rankOf[position] = best;
      sums[best] += costs[position];
      counts[best]++;
    }
    return IntStream.range(0, worldSize)
        .mapToObj(rank -> IntStream.range(0, costs.length).filter(i -> rankOf[i] == rank).toArray())
        .toArray(int[][]::new);
  }

  private static int[][] slowRepair(long[] costs, int[][] division) {
    int[][] sets = Arrays.stream(division).map(int[]::clone).toArray(int[][]::new);
    while (slowSwap(costs, sets)) {
      for (int[] set : sets) {
        Arrays.sort(set);
      }
    }
    return sets;
  }

  private static boolean slowSwap(long[] costs, int[][] sets) {
    long[] sums = sums(costs, sets);
    int high = 0;
    int low = 0;
    for (int rank = 1; rank < sets.length; rank++) {
      high = sums[rank] > sums[high] ? rank : high;
      low = sums[rank] < sums[low] ? rank : low;
    }
    long gap = sums[high] - sums[low];
    long least = gap;
    int[] best = null;
    for (int a = 0; gap > 1 && a < sets[high].length; a++) {
      for (int b = 0; b < sets[low].length; b++) {
        long difference = costs[sets[high][a]] - costs[sets[low][b]];
        if (Math.abs(2 * difference - gap) < least) {
          least = Math.abs(2 * difference - gap);
          best = new int[] {a, b};
        }
      }
    }
    if (best == null) {
      return false;
    }
    int moved = sets[high][best[0]];
    sets[high][best[0]] = sets[low][best[1]];
    sets[low][best[1]] = moved;
    return true;
  }

  private static long[] sums(long[] costs, int[][] division) {
    return Arrays.stream(division)
        .mapToLong(set -> Arrays.stream(set).mapToLong(i -> costs[i]).sum())
        .toArray();
  }
}
