// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** The guarantees (a) to (d) of class-cycling, over labels in which each class has a sample. */
class ClassCyclingPropertyTest {
  private static int[] labels(int classes, long seed) {
    Random random = new Random(seed);
    int[] labels = new int[classes + random.nextInt(60)];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = i < classes ? i : (int) (classes * random.nextDouble() * random.nextDouble());
    }
    return labels;
  }

  private static ClassCyclingSampler.Builder plan(int[] labels, int classes, long seed) {
    return ClassCyclingSampler.ofLabels(classes, labels).seed(seed).samples(6L * labels.length);
  }

  @Property(tries = 120)
  void consecutivePositionsServeEveryClassOnceAndCountsDifferByOneAtMost(
      @ForAll @IntRange(min = 1, max = 12) int classes,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = 1_000_000) long epoch) {
    int[] labels = labels(classes, seed);
    long[] indices = Cursors.indices(plan(labels, classes, seed).build(), epoch);
    int[] served = new int[classes];
    for (int end = 0; end < indices.length; end++) {
      served[labels[(int) indices[end]]]++;
      assertThat(max(served) - min(served)).isLessThanOrEqualTo(1);
      if (end + 1 >= classes) {
        int start = end + 1 - classes;
        assertThat(IntStream.rangeClosed(start, end).map(i -> labels[(int) indices[i]]).distinct())
            .hasSize(classes);
      }
    }
  }

  private static int max(int[] values) {
    return Arrays.stream(values).max().orElseThrow();
  }

  private static int min(int[] values) {
    return Arrays.stream(values).min().orElseThrow();
  }

  @Property(tries = 120)
  void aLapOfAClassRepeatsNoSample(
      @ForAll @IntRange(min = 1, max = 12) int classes, @ForAll long seed) {
    int[] labels = labels(classes, seed);
    long[] indices = Cursors.indices(plan(labels, classes, seed).build(), 3);
    for (int c = 0; c < classes; c++) {
      int wanted = c;
      long[] draws = Arrays.stream(indices).filter(i -> labels[(int) i] == wanted).toArray();
      int m = (int) Arrays.stream(labels).filter(label -> label == wanted).count();
      for (int lap = 0; lap + m <= draws.length; lap += m) {
        assertThat(Arrays.stream(draws, lap, lap + m).distinct()).hasSize(m);
      }
    }
  }

  @Property(tries = 40)
  void anyNumberOfRanksReadsTheSameStreamFromAnyPosition(
      @ForAll @IntRange(min = 1, max = 8) int classes,
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll boolean reshuffled,
      @ForAll boolean distinct) {
    ClassCyclingSampler.Builder builder =
        plan(labels(classes, seed), classes, seed).reshuffleEachCycle(reshuffled);
    ClassCyclingSampler plan = (distinct ? builder.distinctInBatch(9) : builder).build();
    PlanChecks.ranksTakeTurns(plan, 4, worldSize);
    PlanChecks.seekEqualsSkipAtEveryPosition(plan, 4);
  }

  @Property(tries = 100)
  void reshuffledCyclesServeEveryClassOnceInEachAlignedCycle(
      @ForAll @IntRange(min = 1, max = 12) int classes, @ForAll long seed) {
    int[] labels = labels(classes, seed);
    ClassCyclingSampler plan = plan(labels, classes, seed).reshuffleEachCycle(true).build();
    long[] indices = Cursors.indices(plan, 0);
    Set<String> orders = new HashSet<>();
    for (int start = 0; start + classes <= indices.length; start += classes) {
      int[] served =
          IntStream.range(start, start + classes).map(i -> labels[(int) indices[i]]).toArray();
      assertThat(Arrays.stream(served).distinct()).hasSize(classes);
      orders.add(Arrays.toString(served));
    }
    assertThat(orders.size()).isGreaterThan(classes < 4 ? 0 : 1);
  }

  @Property(tries = 120)
  void noSampleComesTwiceInABatchWhereTheListsAllowIt(
      @ForAll @IntRange(min = 1, max = 6) int classes,
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 30) int globalBatch) {
    Random random = new Random(seed);
    int[][] sets = new int[2 * globalBatch + classes][];
    for (int i = 0; i < sets.length; i++) {
      // Every class is in more samples than a batch holds.
      sets[i] = IntStream.range(0, classes).filter(c -> random.nextInt(8) > 0).toArray();
    }
    int[] inAll = new int[classes];
    Arrays.stream(sets).flatMapToInt(Arrays::stream).forEach(c -> inAll[c]++);
    if (min(inAll) < globalBatch) {
      return;
    }
    ClassCyclingSampler plan =
        ClassCyclingSampler.ofClassSets(classes, sets)
            .seed(seed)
            .samples(5L * globalBatch)
            .distinctInBatch(globalBatch)
            .build();
    long[] indices = Cursors.indices(plan, 1);
    for (int start = 0; start < indices.length; start += globalBatch) {
      assertThat(Arrays.stream(indices, start, start + globalBatch).distinct())
          .hasSize(globalBatch);
      for (int i = start; i + classes <= start + globalBatch; i++) {
        IntStream window = IntStream.range(i, i + classes);
        assertThat(window.flatMap(p -> Arrays.stream(sets[(int) indices[p]])).distinct())
            .hasSize(classes);
      }
    }
  }
}
