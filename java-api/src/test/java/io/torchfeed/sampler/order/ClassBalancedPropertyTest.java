// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** Guarantees (a) to (d) of class cycling, for labels in which every class has a sample. */
class ClassBalancedPropertyTest {
  private static int[] labels(int classes, long seed) {
    Random random = new Random(seed);
    int[] labels = new int[classes + random.nextInt(60)];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = i < classes ? i : (int) (classes * random.nextDouble() * random.nextDouble());
    }
    return labels;
  }

  private static ClassBalancedSampler.Builder plan(int[] labels, int classes, long seed) {
    return ClassBalancedSampler.ofLabels(classes, labels).seed(seed).samples(6L * labels.length);
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
  void aPassOverAClassRepeatsNoSample(
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
    ClassBalancedSampler.Builder builder =
        plan(labels(classes, seed), classes, seed).reshuffleEachCycle(reshuffled);
    ClassBalancedSampler plan = (distinct ? builder.distinctInBatch(9) : builder).build();
    DivisionChecks.ranksTakeTurns(plan, 4, worldSize);
    DivisionChecks.seekEqualsSkipAtEveryPosition(plan, 4);
  }

  @Property(tries = 100)
  void reshuffledCyclesServeEveryClassOnceInEachAlignedCycle(
      @ForAll @IntRange(min = 1, max = 12) int classes, @ForAll long seed) {
    int[] labels = labels(classes, seed);
    ClassBalancedSampler plan = plan(labels, classes, seed).reshuffleEachCycle(true).build();
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
  void noSampleRepeatsInABatchIfTheListsAllowIt(
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
    ClassBalancedSampler plan =
        ClassBalancedSampler.ofClassSets(classes, sets)
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

  @Property(tries = 200)
  void distinctBatchesEqualANaiveImplementation(
      @ForAll @IntRange(min = 1, max = 6) int classes,
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 40) int globalBatch,
      @ForAll boolean reshuffled) {
    Random random = new Random(seed);
    int[][] sets = new int[1 + random.nextInt(30)][];
    for (int i = 0; i < sets.length; i++) {
      int share = 1 + random.nextInt(4);
      sets[i] = IntStream.range(0, classes).filter(c -> random.nextInt(share) == 0).toArray();
    }
    sets[0] = new int[] {random.nextInt(classes)};
    ClassLists lists = ClassLists.of(classes, sets, Set.of());
    int samples = random.nextInt(200);
    int[] expected =
        distinct(new ClassCycle(lists, seed, 5, reshuffled), lists, samples, globalBatch);
    assertThat(new ClassCycle(lists, seed, 5, reshuffled).distinct(samples, globalBatch))
        .isEqualTo(expected);
  }

  /** Draws naively: skips the samples in the batch, and repeats once the whole list was seen. */
  private static int[] distinct(ClassCycle cycle, ClassLists lists, int samples, int globalBatch) {
    int[] order = new int[samples];
    long[] draws = new long[lists.count()];
    Set<Integer> batch = new HashSet<>();
    for (int position = 0; position < samples; position++) {
      if (position % globalBatch == 0) {
        batch.clear();
      }
      int place = cycle.classAt(position);
      long draw = draws[place];
      long end = (draw / lists.length(place) + 2) * lists.length(place);
      while (draw < end && batch.contains(cycle.sample(place, draw))) {
        draw++;
      }
      draw = draw < end ? draw : draws[place];
      draws[place] = draw + 1;
      order[position] = cycle.sample(place, draw);
      batch.add(order[position]);
    }
    return order;
  }
}
