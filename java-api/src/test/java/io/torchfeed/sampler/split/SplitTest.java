// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.ListSampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of splits that respect groups or strata, and of plans over the resulting lists. */
class SplitTest {
  /** A split by one of the two rules. */
  @FunctionalInterface
  interface Split {
    List<long[]> of(long[] keys);
  }

  private static long[] keys(int size, int distinct, long seed) {
    Random random = new Random(seed);
    return LongStream.range(0, size)
        .map(i -> (long) (distinct * random.nextDouble() * random.nextDouble()) - 3)
        .toArray();
  }

  private static long[] lengths(int size, int parts, long seed) {
    Random random = new Random(~seed);
    long[] lengths = new long[parts];
    for (int i = 0; i < size; i++) {
      lengths[(int) (parts * Math.sqrt(random.nextDouble()))]++;
    }
    return lengths;
  }

  private static void assertPartition(List<long[]> parts, int size) {
    assertThat(parts.stream().flatMapToLong(LongStream::of).sorted().toArray())
        .isEqualTo(LongStream.range(0, size).toArray());
    parts.forEach(part -> assertThat(part).isSorted());
  }

  private static long count(long[] part, long[] keys, long key) {
    return Arrays.stream(part).filter(i -> keys[(int) i] == key).count();
  }

  @Property(tries = 300)
  void groupsStayTogetherAndPartsExceedTheirSizeByLessThanOneGroup(
      @ForAll @IntRange(min = 1, max = 300) int size,
      @ForAll @IntRange(min = 1, max = 60) int groups,
      @ForAll @IntRange(min = 1, max = 5) int count,
      @ForAll long seed) {
    long[] keys = keys(size, groups, seed);
    long[] lengths = lengths(size, count, seed);
    List<long[]> parts = GroupSplit.byLengths(keys, lengths, seed);
    assertPartition(parts, size);
    long largest = 0;
    for (long key : Arrays.stream(keys).distinct().toArray()) {
      assertThat(parts.stream().filter(part -> count(part, keys, key) > 0)).hasSize(1);
      largest = Math.max(largest, Arrays.stream(keys).filter(k -> k == key).count());
    }
    for (int part = 0; part < count; part++) {
      assertThat(parts.get(part).length - lengths[part]).isLessThan(largest);
    }
  }

  @Property(tries = 300)
  void everyStratumHasItsRoundedShareOfEveryPart(
      @ForAll @IntRange(min = 1, max = 300) int size,
      @ForAll @IntRange(min = 1, max = 60) int strata,
      @ForAll @IntRange(min = 1, max = 6) int count,
      @ForAll long seed) {
    long[] keys = keys(size, strata, seed);
    long[] lengths = lengths(size, count, seed);
    List<long[]> parts = StratifiedSplit.byLengths(keys, lengths, seed);
    assertPartition(parts, size);
    for (int part = 0; part < count; part++) {
      assertThat((long) parts.get(part).length).isEqualTo(lengths[part]);
      for (long key : Arrays.stream(keys).distinct().toArray()) {
        long all = Arrays.stream(keys).filter(k -> k == key).count();
        long whole = all * lengths[part] / size;
        boolean even = all * lengths[part] % size == 0;
        assertThat(count(parts.get(part), keys, key)).isBetween(whole, even ? whole : whole + 1);
      }
    }
  }

  @Test
  void partsAreRandomButReproducible() {
    long[] keys = keys(1_000, 100, 1);
    long[] lengths = {800, 200};
    for (Split split :
        List.<Split>of(
            k -> GroupSplit.byLengths(k, lengths, 5),
            k -> StratifiedSplit.byLengths(k, lengths, 5))) {
      assertThat(split.of(keys).get(1)).isEqualTo(split.of(keys).get(1));
    }
    assertThat(GroupSplit.byLengths(keys, lengths, 6).get(1))
        .isNotEqualTo(GroupSplit.byLengths(keys, lengths, 5).get(1));
    assertThat(StratifiedSplit.byLengths(keys, lengths, 6).get(1))
        .isNotEqualTo(StratifiedSplit.byLengths(keys, lengths, 5).get(1));
  }

  @Test
  void everySampleIsEquallyOftenInTheValidationPart() {
    long[] groups =
        LongStream.range(0, 50)
            .flatMap(g -> LongStream.generate(() -> g).limit(1 + g % 3))
            .toArray();
    long[] strata = new long[groups.length];
    int[] inGroups = new int[groups.length];
    int[] inStrata = new int[groups.length];
    for (int seed = 0; seed < 2_000; seed++) {
      double[] fractions = {0.8, 0.2};
      Arrays.stream(GroupSplit.byFractions(groups, fractions, seed).get(1))
          .forEach(i -> inGroups[(int) i]++);
      Arrays.stream(StratifiedSplit.byFractions(strata, fractions, seed).get(1))
          .forEach(i -> inStrata[(int) i]++);
    }
    // 400 expected, deviation 18 for strata; groups that fill up a part are somewhat likelier.
    assertThat(Arrays.stream(inStrata)).allMatch(n -> Math.abs(n - 400) < 90);
    assertThat(Arrays.stream(inGroups)).allMatch(n -> Math.abs(n - 400) < 150);
  }

  @Test
  void fractionsAreRoundedAsInPyTorch() {
    // random_split of 106 samples by .1 .2 .3 .4: 11 22 31 42.
    long[] strata = new long[106];
    assertThat(
            StratifiedSplit.byFractions(strata, new double[] {.1, .2, .3, .4}, 0).stream()
                .map(part -> part.length))
        .containsExactly(11, 22, 31, 42);
    long[] groups = LongStream.range(0, 106).toArray();
    assertThat(
            GroupSplit.byFractions(groups, new double[] {.1, .2, .3, .4}, 0).stream()
                .map(part -> part.length))
        .containsExactly(11, 22, 31, 42);
  }

  @Test
  void emptyDatasetsHaveEmptyParts() {
    assertThat(GroupSplit.byFractions(new long[0], new double[] {.5, .5}, 0))
        .hasSize(2)
        .allMatch(part -> part.length == 0);
    assertThat(StratifiedSplit.byLengths(new long[0], new long[] {0, 0, 0}, 0))
        .hasSize(3)
        .allMatch(part -> part.length == 0);
    assertThat(GroupSplit.byLengths(new long[0], new long[0], 0)).isEmpty();
  }

  @Test
  void aGroupLargerThanEveryPartGoesToThePartWithTheMostRoom() {
    List<long[]> parts = GroupSplit.byLengths(new long[10], new long[] {3, 5, 2}, 1);
    assertThat(parts.get(1)).hasSize(10);
  }

  static Stream<Arguments> badLengths() {
    return Stream.of(
        Arguments.of(new long[] {3, 3}, "sum to 5, the size of the dataset, got 3 at position 1"),
        Arguments.of(new long[] {3, 1}, "must sum to 5, the size of the dataset, got 4"),
        Arguments.of(new long[] {6, -1}, "got 6 at position 0"),
        Arguments.of(new long[] {-1, 6}, "got -1 at position 0"),
        Arguments.of(new long[] {Long.MAX_VALUE, 7}, "at position 0"),
        Arguments.of(new long[] {}, "got 0"));
  }

  @ParameterizedTest
  @MethodSource("badLengths")
  void invalidLengthsAreRefused(long[] lengths, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GroupSplit.byLengths(new long[5], lengths, 0))
        .withMessageContaining(message);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StratifiedSplit.byLengths(new long[5], lengths, 0))
        .withMessageContaining(message);
  }

  static Stream<Arguments> badFractions() {
    return Stream.of(
        Arguments.of(new double[] {0.5, 0.4}, "fractions must sum to 1, got 0.9"),
        Arguments.of(new double[] {0.5, Double.NaN}, "got NaN at position 1"),
        Arguments.of(new double[] {-0.5, 1.5}, "got -0.5 at position 0"),
        Arguments.of(new double[] {Double.POSITIVE_INFINITY}, "got Infinity at position 0"),
        Arguments.of(new double[] {}, "got 0.0"));
  }

  @ParameterizedTest
  @MethodSource("badFractions")
  void invalidFractionsAreRefused(double[] fractions, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GroupSplit.byFractions(new long[5], fractions, 0))
        .withMessageContaining(message);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StratifiedSplit.byFractions(new long[5], fractions, 0))
        .withMessageContaining(message);
  }

  @Test
  void datasetsWhosePartsDoNotFitTheHeapAreRefused() {
    long heap = Runtime.getRuntime().maxMemory();
    for (long size : new long[] {heap / 8, Math.min(heap, Integer.MAX_VALUE - 8)}) {
      assertThatIllegalStateException()
          .isThrownBy(() -> RandomSplit.byFractions(size, new double[] {1}, 0))
          .withMessageContaining("raise -Xmx");
    }
  }

  @Nested
  class Lists {
    private final long[] indices = {9, 2, 2, Long.MAX_VALUE, 0};

    @Test
    void listsAreReadInOrderOrReshuffledInEachEpoch() {
      assertThat(Cursors.indices(ListSampler.inOrder(indices), 7)).isEqualTo(indices);
      Sampler shuffled = ListSampler.shuffled(1, LongStream.range(100, 400).toArray());
      assertThat(DivisionChecks.sorted(shuffled, 3))
          .isEqualTo(LongStream.range(100, 400).toArray());
      assertThat(Cursors.indices(shuffled, 3)).isNotEqualTo(Cursors.indices(shuffled, 4));
      assertThat(Cursors.indices(ListSampler.shuffled(1, indices), 3))
          .containsExactlyInAnyOrder(indices);
    }

    @Test
    void listsAreReadFromAnyPositionByAnyNumberOfRanks() {
      Sampler shuffled = ListSampler.shuffled(1, IntStream.range(0, 90).asLongStream().toArray());
      DivisionChecks.seekEqualsSkipAtEveryPosition(shuffled, 2);
      for (int worldSize = 1; worldSize <= 17; worldSize++) {
        DivisionChecks.ranksTakeTurns(shuffled, 2, worldSize);
      }
    }

    @Test
    void listsMayBeEmptyButIndicesMustNotBeNegative() {
      assertThat(Cursors.indices(ListSampler.shuffled(1), 0)).isEmpty();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ListSampler.inOrder(4, -1))
          .withMessage("an index must be at least 0, got -1 at position 1");
      DivisionChecks.negativeEpochsAreRefused(ListSampler.inOrder(1));
    }

    @Test
    void listsAreCopiedAndDistinguished() {
      long[] changed = indices.clone();
      Sampler plan = ListSampler.inOrder(changed);
      changed[0] = 1;
      assertThat(Cursors.indices(plan, 0)).isEqualTo(indices);
      assertThat(
              Stream.of(
                      plan,
                      ListSampler.inOrder(changed),
                      ListSampler.shuffled(1, indices),
                      ListSampler.shuffled(2, indices))
                  .map(Sampler::digest)
                  .distinct())
          .hasSize(4);
    }
  }
}
