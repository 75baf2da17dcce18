// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import io.torchfeed.testing.ListedSampler;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of concatenated sources, and of a repeated plan. */
class ConcatenatedSamplerTest {
  private static Sampler shuffled(int size, long seed) {
    return ListSampler.shuffled(seed, LongStream.range(0, size).toArray());
  }

  private static long[] joined(long[] first, long[] second) {
    return LongStream.concat(LongStream.of(first), LongStream.of(second)).toArray();
  }

  @Test
  void indicesReferToTheConcatenatedDatasets() {
    List<MixedSampler.Source> sources =
        MixedSampler.Source.ofDatasets(
            List.of(ListSampler.inOrder(2, 0), ListSampler.inOrder(), ListSampler.inOrder(1, 1)),
            5,
            7,
            2);
    assertThat(Cursors.indices(ConcatenatedSampler.of(sources), 0)).containsExactly(2, 0, 13, 13);
  }

  @Test
  void everySourceHasItsOwnEpoch() {
    Sampler first = shuffled(30, 1);
    Sampler second = RandomSampler.of(40, 2);
    Sampler both =
        ConcatenatedSampler.of(MixedSampler.Source.ofDatasets(List.of(first, second), 30, 40));
    long[] expected = Cursors.indices(second, 6);
    Arrays.setAll(expected, i -> expected[i] + 30);
    assertThat(Cursors.indices(both, 6)).isEqualTo(joined(Cursors.indices(first, 6), expected));
  }

  @Property(tries = 60)
  void anyNumberOfRanksReadsTheSameListFromAnyPosition(
      @ForAll @IntRange(min = 1, max = 6) int count,
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 17) int worldSize) {
    Random random = new Random(seed);
    List<MixedSampler.Source> sources =
        random
            .ints(count, 0, 30)
            .mapToObj(size -> new MixedSampler.Source(shuffled(size, seed), 100))
            .toList();
    Sampler plan = ConcatenatedSampler.of(sources);
    DivisionChecks.ranksTakeTurns(plan, 3, worldSize);
    DivisionChecks.seekEqualsSkipAtEveryPosition(plan, 3);
  }

  @Property(tries = 60)
  void anyNumberOfRanksReadsTheSameRepeatedPlanFromAnyPosition(
      @ForAll @IntRange(min = 1, max = 20) int size,
      @ForAll @IntRange(min = 0, max = 90) int samples,
      @ForAll @IntRange(min = 1, max = 17) int worldSize) {
    Sampler plan = RepeatedSampler.of(shuffled(size, samples), samples);
    DivisionChecks.ranksTakeTurns(plan, 3, worldSize);
    DivisionChecks.seekEqualsSkipAtEveryPosition(plan, 3);
  }

  @Test
  void paddingInASourceIsPaddingInTheList() {
    Sampler padded = new ListedSampler(new long[] {4, ~4});
    Sampler plan =
        ConcatenatedSampler.of(
            List.of(
                new MixedSampler.Source(ListSampler.inOrder(8), 0),
                new MixedSampler.Source(padded, 0)));
    try (Cursor cursor = plan.epoch(0)) {
      assertThat(cursor.isPadding(0)).isFalse();
      assertThat(cursor.isPadding(1)).isFalse();
      assertThat(cursor.isPadding(2)).isTrue();
    }
  }

  @Test
  void invalidSourcesAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ConcatenatedSampler.of(List.of()))
        .withMessage("sources must not be empty");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MixedSampler.Source.ofDatasets(List.of(ListSampler.inOrder()), 1, 2))
        .withMessage("there must be one dataset size for each of the 1 plans, got 2");
    List<Sampler> two = List.of(ListSampler.inOrder(), ListSampler.inOrder());
    for (long size : new long[] {-1, 1L << 62, Long.MAX_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> MixedSampler.Source.ofDatasets(two, 1, size))
          .withMessageEndingWith("got " + size + " at index 1");
    }
    MixedSampler.Source endless =
        new MixedSampler.Source(RepeatedSampler.endless(ListSampler.inOrder(1)), 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ConcatenatedSampler.of(List.of(endless, endless)))
        .withMessageEndingWith("at source 1");
    DivisionChecks.negativeEpochsAreRefused(ConcatenatedSampler.of(List.of(endless)));
  }

  @Test
  void indicesThatOverflowAreRefused() {
    Sampler last = ListSampler.inOrder(3, Long.MAX_VALUE - 5);
    for (long first : new long[] {(1L << 62) + 1, Long.MAX_VALUE - 1, Long.MAX_VALUE, -1}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new MixedSampler.Source(last, first))
          .withMessage("firstIndex must be in [0, 4611686018427387904], got " + first);
    }
    MixedSampler.Source source = new MixedSampler.Source(last, 6);
    for (Sampler plan :
        List.of(
            ConcatenatedSampler.of(List.of(source)),
            MixedSampler.untilAllExhausted(List.of(source), 1))) {
      try (Cursor cursor = plan.epoch(0)) {
        assertThat(Cursors.next(cursor, 1)).containsExactly(9);
        assertThatIllegalStateException()
            .isThrownBy(() -> cursor.next(new long[1], 0, 1))
            .withMessage(
                "an index plus the firstIndex 6 of its source must be at most %d, got index %d of %s",
                Long.MAX_VALUE, Long.MAX_VALUE - 5, last);
      }
    }
    Sampler fits = ConcatenatedSampler.of(List.of(new MixedSampler.Source(last, 5)));
    assertThat(Cursors.indices(fits, 0)).containsExactly(8, Long.MAX_VALUE);
  }

  @Test
  void closingClosesTheSources() {
    Sampler plan =
        ConcatenatedSampler.of(
            MixedSampler.Source.ofDatasets(List.of(RandomSampler.of(40, 2)), 40));
    Cursor cursor = plan.epoch(0);
    Cursors.next(cursor, 3);
    cursor.close();
    cursor.close();
    assertThatIllegalStateException().isThrownBy(() -> cursor.next(new long[1], 0, 1));
    Cursor unread = plan.epoch(0);
    unread.close();
    assertThatIllegalStateException().isThrownBy(() -> unread.isPadding(0));
  }

  @Nested
  class Repeated {
    @ParameterizedTest
    @ValueSource(longs = {1, 3, 10, 17, 20, 35})
    void epochsAreCutFromTheStreamOfAllEpochs(long samples) {
      Sampler plan = shuffled(10, 4);
      Sampler repeated = RepeatedSampler.of(plan, samples);
      long[] stream = new long[0];
      for (long lap = 0; lap < 20; lap++) {
        stream = joined(stream, Cursors.indices(plan, lap));
      }
      for (long epoch = 0; epoch < 5; epoch++) {
        int start = (int) (epoch * samples);
        assertThat(Cursors.indices(repeated, epoch))
            .isEqualTo(Arrays.copyOfRange(stream, start, start + (int) samples));
      }
    }

    @Test
    void anyPositionInAnEndlessEpochIsReachedDirectly() {
      Sampler plan = shuffled(1_000, 4);
      long lap = (1L << 52) + 3;
      try (Cursor cursor = RepeatedSampler.endless(plan).epoch(0)) {
        cursor.seek(1_000 * lap - 1);
        long[] expected = Cursors.indices(plan, lap);
        assertThat(Arrays.copyOfRange(Cursors.next(cursor, 1_001), 1, 1_001)).isEqualTo(expected);
        cursor.seek(1L << 62);
        assertThat(cursor.next(new long[1], 0, 1)).isZero();
      }
    }

    @Test
    void ranksStrideOverAnEndlessEpoch() {
      Sampler plan = shuffled(10, 4);
      Sampler endless = RepeatedSampler.endless(plan);
      long[][] parts = new long[3][];
      for (int rank = 0; rank < 3; rank++) {
        try (Cursor cursor = StridedSampler.of(endless, new Part(3, rank)).epoch(0)) {
          parts[rank] = Cursors.next(cursor, 10);
        }
      }
      long[] expected =
          joined(
              joined(Cursors.indices(plan, 0), Cursors.indices(plan, 1)), Cursors.indices(plan, 2));
      for (int i = 0; i < 30; i++) {
        assertThat(parts[i % 3][i / 3]).isEqualTo(expected[i]);
      }
    }

    @Test
    void libtorchPlansMayBeRepeated() {
      Sampler plan = RandomSampler.of(50, 4);
      assertThat(Cursors.indices(RepeatedSampler.of(plan, 100), 1))
          .isEqualTo(joined(Cursors.indices(plan, 2), Cursors.indices(plan, 3)));
    }

    @Test
    void invalidArgumentsAreRefused() {
      Sampler plan = shuffled(10, 4);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RepeatedSampler.of(ListSampler.inOrder(), 1))
          .withMessageContaining("got an empty one");
      for (long samples : new long[] {-1, (1L << 62) + 1}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> RepeatedSampler.of(plan, samples))
            .withMessageEndingWith("got " + samples);
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RepeatedSampler.of(StridedSampler.of(plan, new Part(2, 0)), 1))
          .withMessageStartingWith("plan must be a plan of the whole order");
      DivisionChecks.negativeEpochsAreRefused(RepeatedSampler.of(plan, 1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RepeatedSampler.endless(plan).epoch(1))
          .withMessage("epoch must be at most 0 with epochs of %d samples, got 1", 1L << 62);
      assertThat(Cursors.indices(RepeatedSampler.of(plan, 0), Long.MAX_VALUE)).isEmpty();
    }
  }
}
