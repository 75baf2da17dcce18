// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Divisions of a step, against the rules in their plain form. */
class PartitionTest {
  private static final long[] TWELVE = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 11};
  private static final long[] EIGHT = {1, 2, 3, 4, 5, 6, 7, 8};
  private static final long[] HEAVY = {100, 1, 2, 3, 4, 5, 6, 7};

  @Test
  void theWorkedExampleOfThreeRanksIsReached() {
    assertThat(dealt(TWELVE, 3, 0))
        .isDeepEqualTo(new int[][] {{3, 4, 9, 11}, {2, 5, 8, 10}, {0, 1, 6, 7}});
    assertThat(dealt(TWELVE, 3, 1))
        .isDeepEqualTo(new int[][] {{0, 1, 6, 7}, {3, 4, 9, 11}, {2, 5, 8, 10}});
  }

  @Test
  void differencingDividesOneToEightEvenly() {
    assertThat(KarmarkarKarp.equalCounts(EIGHT, 2))
        .isDeepEqualTo(new int[][] {{1, 2, 4, 7}, {0, 3, 5, 6}});
  }

  @Test
  void aHeavyTailStaysUneven() {
    assertThat(sums(HEAVY, KarmarkarKarp.equalCounts(HEAVY, 2))).containsExactly(109, 19);
    assertThat(sums(HEAVY, Partition.largestFirst(HEAVY, 2, 0))).containsExactly(106, 22);
  }

  @Test
  void freeCountsPutTheHeavyOneAlone() {
    assertThat(Partition.largestFirstFree(HEAVY, 2, 0))
        .isDeepEqualTo(new int[][] {{0}, {1, 2, 3, 4, 5, 6, 7}});
    assertThat(Partition.largestFirstFree(HEAVY, 2, 1))
        .isDeepEqualTo(new int[][] {{1, 2, 3, 4, 5, 6, 7}, {0}});
    assertThat(KarmarkarKarp.freeCounts(HEAVY, 2))
        .isDeepEqualTo(new int[][] {{0}, {1, 2, 3, 4, 5, 6, 7}});
  }

  @Test
  void nothingDividesIntoEmptySets() {
    int[][] empty = {{}, {}, {}};
    assertThat(KarmarkarKarp.equalCounts(new long[0], 3)).isDeepEqualTo(empty);
    assertThat(KarmarkarKarp.freeCounts(new long[0], 3)).isDeepEqualTo(empty);
    assertThat(Partition.largestFirst(new long[0], 3, 0)).isDeepEqualTo(empty);
    assertThat(Partition.largestFirstFree(new long[0], 3, 0)).isDeepEqualTo(empty);
    assertThat(Partition.repaired(new long[0], empty, 5)).isDeepEqualTo(empty);
  }

  @Property(tries = 300)
  void dealingEqualsTheRulesInTheirPlainForm(
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll @IntRange(min = 1, max = 12) int batchSize,
      @ForAll @IntRange(min = 1, max = 2_000) int costLimit,
      @ForAll @IntRange(min = 0, max = 50) int step,
      @ForAll long seed) {
    long[] costs = randomCosts(worldSize * batchSize, costLimit, seed);
    int[][] expected = slowLargestFirst(costs, worldSize, batchSize, step);
    assertThat(Partition.largestFirst(costs, worldSize, step)).isDeepEqualTo(expected);
    assertThat(dealt(costs, worldSize, step)).isDeepEqualTo(slowRepair(costs, expected, step));
  }

  @Property(tries = 200)
  void repairKeepsCountsAndNeverWidensTheGap(
      @ForAll @IntRange(min = 1, max = 9) int sets,
      @ForAll @IntRange(min = 0, max = 60) int items,
      @ForAll @IntRange(min = 0, max = 20) int step,
      @ForAll long seed) {
    long[] costs = randomCosts(items, 1000, seed);
    int[][] before = KarmarkarKarp.freeCounts(costs, sets);
    int[][] after = Partition.repaired(costs, before, step);
    assertThat(after).isDeepEqualTo(slowRepair(costs, before, step));
    assertThat(Arrays.stream(after).flatMapToInt(Arrays::stream).sorted().toArray())
        .isEqualTo(IntStream.range(0, items).toArray());
    assertThat(gap(costs, after)).isLessThanOrEqualTo(gap(costs, before));
  }

  @Property(tries = 200)
  void differencingWithEqualCountsGivesEachSetAsMany(
      @ForAll @IntRange(min = 1, max = 9) int sets,
      @ForAll @IntRange(min = 1, max = 9) int each,
      @ForAll long seed) {
    long[] costs = randomCosts(sets * each, 1000, seed);
    int[][] division = KarmarkarKarp.equalCounts(costs, sets);
    assertThat(Arrays.stream(division).mapToInt(set -> set.length)).containsOnly(each);
    assertThat(Arrays.stream(division).flatMapToInt(Arrays::stream).sorted().toArray())
        .isEqualTo(IntStream.range(0, costs.length).toArray());
  }

  private static int[][] dealt(long[] costs, int worldSize, int step) {
    return Partition.repaired(costs, Partition.largestFirst(costs, worldSize, step), step);
  }

  private static long[] randomCosts(int count, int limit, long seed) {
    return new Random(seed).longs(count, 0, limit).toArray();
  }

  private static int[][] slowLargestFirst(long[] costs, int worldSize, int batchSize, int step) {
    int[] rankOf = new int[costs.length];
    long[] sums = new long[worldSize];
    int[] counts = new int[worldSize];
    Integer[] order = IntStream.range(0, costs.length).boxed().toArray(Integer[]::new);
    Arrays.sort(order, (a, b) -> Long.compare(costs[b], costs[a]));
    for (int position : order) {
      int best = -1;
      for (int seat = 0; seat < worldSize; seat++) {
        int rank = (seat + step) % worldSize;
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

  private static int[][] slowRepair(long[] costs, int[][] division, int step) {
    int[][] sets = Arrays.stream(division).map(int[]::clone).toArray(int[][]::new);
    while (slowSwap(costs, sets, step)) {
      for (int[] set : sets) {
        Arrays.sort(set);
      }
    }
    return sets;
  }

  private static boolean slowSwap(long[] costs, int[][] sets, int step) {
    long[] sums = sums(costs, sets);
    int high = step % sets.length;
    int low = high;
    for (int seat = 1; seat < sets.length; seat++) {
      int rank = (seat + step) % sets.length;
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

  private static long gap(long[] costs, int[][] division) {
    long[] sums = sums(costs, division);
    return Arrays.stream(sums).max().orElse(0) - Arrays.stream(sums).min().orElse(0);
  }
}
