// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Tests of several sources in fixed proportions. */
class MixedSamplerTest {
  private static MixedSampler.Source source(long seed, int first, int size) {
    return new MixedSampler.Source(
        ListSampler.shuffled(seed, LongStream.range(0, size).toArray()), first);
  }

  /** Returns sources of 10, 20, 30, … samples, numbered consecutively. */
  private static List<MixedSampler.Source> sources(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> source(i, 5 * i * (i + 1), 10 * (i + 1)))
        .toList();
  }

  private static int sourceOf(long index) {
    int source = 0;
    while (index >= 5L * (source + 1) * (source + 2)) {
      source++;
    }
    return source;
  }

  @Test
  void weightsOfSevenTwoAndOneMixExactlyInEveryTen() {
    MixedSampler mixed = MixedSampler.ofLength(1_000, sources(3), 7, 2, 1);
    int[] drawn = Arrays.stream(Cursors.indices(mixed, 0)).mapToInt(i -> sourceOf(i)).toArray();
    // Draw times: 1/14, 3/14, …, 13/14; 3.5/14, 10.5/14; 7/14, tied with the fourth of the first.
    assertThat(Arrays.copyOf(drawn, 10)).containsExactly(0, 0, 1, 0, 0, 2, 0, 1, 0, 0);
    for (int start = 0; start < 1_000; start += 10) {
      assertThat(Arrays.copyOfRange(drawn, start, start + 10)).isEqualTo(Arrays.copyOf(drawn, 10));
    }
  }

  @Test
  void epochsAreLimitedByTheLapNumbers() {
    MixedSampler once = MixedSampler.ofLength(4, sources(2), 1, 1);
    assertThat(Cursors.indices(once, Long.MAX_VALUE)).hasSize(4);
    MixedSampler threeLaps = MixedSampler.ofLength(60, sources(2), 1, 1);
    long last = Long.MAX_VALUE / 3 - 1;
    assertThat(Cursors.indices(threeLaps, last)).hasSize(60);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> threeLaps.epoch(last + 1))
        .withMessageContaining("epoch must be at most " + last);
  }

  @Test
  void eachSourceKeepsItsOrderAndEveryLapIsOneOfItsEpochs() {
    List<MixedSampler.Source> sources = sources(2);
    MixedSampler mixed = MixedSampler.ofLength(60, sources, 1, 1);
    for (long epoch = 0; epoch < 3; epoch++) {
      long[] first =
          Arrays.stream(Cursors.indices(mixed, epoch)).filter(i -> sourceOf(i) == 0).toArray();
      long[] expected = new long[30];
      for (int lap = 0; lap < 3; lap++) {
        long[] order = Cursors.indices(sources.get(0).plan(), 3 * epoch + lap);
        System.arraycopy(order, 0, expected, 10 * lap, 10);
      }
      assertThat(first).isEqualTo(expected);
      long[] second =
          Arrays.stream(Cursors.indices(mixed, epoch)).filter(i -> sourceOf(i) == 1).toArray();
      assertThat(second).hasSize(30);
      assertThat(Arrays.stream(second, 0, 20).sorted().toArray())
          .isEqualTo(LongStream.range(10, 30).toArray());
    }
  }

  @Test
  void anEpochEndsBeforeASourceWouldRepeat() {
    MixedSampler mixed = MixedSampler.untilFirstExhausted(sources(3), 1, 1, 1);
    long[] indices = Cursors.indices(mixed, 4);
    assertThat(indices).hasSize(30).doesNotHaveDuplicates();
    assertThat(Arrays.stream(indices).filter(i -> sourceOf(i) == 0)).hasSize(10);
    // With weights proportional to the sizes, all sources end together.
    assertThat(MixedSampler.untilFirstExhausted(sources(3), 1, 2, 3).size()).isEqualTo(60);
    assertThat(MixedSampler.untilAllExhausted(sources(3), 1, 2, 3).size()).isEqualTo(60);
  }

  @Test
  void anEpochEndsWhenEverySampleWasSeen() {
    MixedSampler mixed = MixedSampler.untilAllExhausted(sources(3), 1, 1, 1);
    long[] indices = Cursors.indices(mixed, 4);
    assertThat(indices).hasSize(90).contains(LongStream.range(0, 60).toArray());
    assertThat(indices[89]).isGreaterThanOrEqualTo(30);
    assertThat(Arrays.stream(indices, 0, 89).distinct()).hasSize(59);
  }

  @Property(tries = 150)
  void theScheduleEqualsASortedListOfDraws(
      @ForAll @IntRange(min = 1, max = 7) int count, @ForAll long seed) {
    Random random = new Random(seed);
    long[] weights = random.longs(count, 1, 40).toArray();
    int period = (int) LongStream.of(weights).sum();
    List<int[]> due = new ArrayList<>(); // source, draw
    for (int source = 0; source < count; source++) {
      for (int draw = 0; draw < 2 * weights[source]; draw++) {
        due.add(new int[] {source, draw});
      }
    }
    due.sort((a, b) -> earlier(weights, a, b));
    MixSchedule schedule = new MixSchedule(weights);
    MixSchedule.Place onward = schedule.at(0);
    long[] drawn = new long[count];
    for (int position = 0; position < 2 * period; position++) {
      onward.moveTo(position);
      int source = due.get(position)[0];
      long[] expected = expected(source, position, drawn);
      assertThat(described(schedule, onward, count)).isEqualTo(expected);
      assertThat(described(schedule, schedule.at(position), count)).isEqualTo(expected);
      for (int i = 0; i < count; i++) {
        double share = (double) weights[i] / period;
        double off = Math.abs(drawn[i] - share * position);
        assertThat(off <= 0.5 + share * (count - 2) / 2 + 1e-9).isTrue();
      }
      drawn[source]++;
    }
  }

  private static long[] expected(int source, int position, long[] drawn) {
    long[] expected = Arrays.copyOf(drawn, drawn.length + 2);
    expected[drawn.length] = source;
    expected[drawn.length + 1] = position;
    return expected;
  }

  private static long[] described(MixSchedule schedule, MixSchedule.Place place, int count) {
    long[] described = new long[count + 2];
    for (int i = 0; i < count; i++) {
      described[i] = place.drawn(i);
    }
    int source = place.source();
    described[count] = source;
    described[count + 1] = schedule.positionOf(source, place.drawn(source));
    return described;
  }

  private static int earlier(long[] weights, int[] a, int[] b) {
    BigInteger left = BigInteger.valueOf((2L * a[1] + 1) * weights[b[0]]);
    int byTime = left.compareTo(BigInteger.valueOf((2L * b[1] + 1) * weights[a[0]]));
    return byTime != 0 ? byTime : Integer.compare(a[0], b[0]);
  }

  @Property(tries = 40)
  void anyNumberOfRanksReadsTheSameMixFromAnyPosition(
      @ForAll @IntRange(min = 1, max = 5) int count,
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 17) int worldSize) {
    long[] weights = new Random(seed).longs(count, 1, 9).toArray();
    for (MixedSampler mixed :
        List.of(
            MixedSampler.untilFirstExhausted(sources(count), weights),
            MixedSampler.ofLength(150, sources(count), weights))) {
      DivisionChecks.ranksTakeTurns(mixed, 2, worldSize);
      DivisionChecks.seekEqualsSkipAtEveryPosition(mixed, 2);
    }
  }

  @Test
  void theLargestWeightsAndLongestEpochsAreAccepted() {
    long half = MixSchedule.MAX_SUM / 2;
    MixedSampler mixed = MixedSampler.ofLength(1L << 62, sources(2), half, half);
    try (Cursor cursor = mixed.epoch(0)) {
      cursor.seek((1L << 62) - 2);
      assertThat(LongStream.of(Cursors.next(cursor, 9)).mapToInt(i -> sourceOf(i)))
          .containsExactly(0, 1);
    }
    MixedSampler rare = MixedSampler.ofLength(1L << 30, sources(2), MixSchedule.MAX_SUM - 1, 1);
    try (Cursor cursor = rare.epoch(0)) {
      cursor.seek((1 << 29) - 2);
      assertThat(LongStream.of(Cursors.next(cursor, 4)).filter(i -> sourceOf(i) == 1)).hasSize(1);
    }
  }

  @Test
  void paddingInASourceIsPaddingInTheMix() {
    Sampler padded = StridedSampler.of(ListSampler.inOrder(4, 5, 6), Part.whole());
    MixedSampler mixed = MixedSampler.ofLength(4, List.of(new MixedSampler.Source(padded, 0)), 1);
    try (Cursor cursor = mixed.epoch(0)) {
      assertThat(cursor.isPadding(3)).isFalse();
      assertThat(Cursors.rest(cursor)).containsExactly(4, 5, 6, 4);
    }
  }

  @Test
  void invalidSourcesAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MixedSampler.ofLength(1, List.of()))
        .withMessage("sources must not be empty");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MixedSampler.ofLength(1, sources(2), 1))
        .withMessage("there must be one weight for each of the 2 sources, got 1");
    MixedSampler.Source empty = new MixedSampler.Source(ListSampler.inOrder(), 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MixedSampler.untilAllExhausted(List.of(source(0, 0, 3), empty), 1, 1))
        .withMessageContaining("source 1 is empty");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                new MixedSampler.Source(
                    StridedSampler.of(ListSampler.inOrder(1), new Part(2, 0)), 0))
        .withMessageContaining("rank 0 of 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new MixedSampler.Source(ListSampler.inOrder(1), -1))
        .withMessage("firstIndex must be in [0, 4611686018427387904], got -1");
  }

  @Test
  void invalidWeightsAndLengthsAreRefused() {
    for (long weight : new long[] {0, -1, MixSchedule.MAX_SUM, Long.MAX_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> MixedSampler.ofLength(1, sources(2), 1, weight))
          .withMessageEndingWith("got " + weight + " at index 1");
    }
    for (long samples : new long[] {-1, (1L << 62) + 1}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> MixedSampler.ofLength(samples, sources(1), 1))
          .withMessageEndingWith("got " + samples);
    }
    MixedSampler.Source endless =
        new MixedSampler.Source(RepeatedSampler.endless(ListSampler.inOrder(1)), 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MixedSampler.untilAllExhausted(List.of(endless, endless), 1, 1))
        .withMessageStartingWith("samples must be in");
    assertThat(MixedSampler.untilFirstExhausted(List.of(endless, source(0, 0, 3)), 1, 1).size())
        .isEqualTo(7);
    DivisionChecks.negativeEpochsAreRefused(MixedSampler.ofLength(5, sources(1), 1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MixedSampler.ofLength(100, sources(1), 1).epoch(Long.MAX_VALUE))
        .withMessageContaining("a source is repeated 10 times");
  }

  @Test
  void everyParameterDistinguishesPlans() {
    assertThat(
            Stream.of(
                    MixedSampler.ofLength(10, sources(2), 1, 2),
                    MixedSampler.ofLength(11, sources(2), 1, 2),
                    MixedSampler.ofLength(10, sources(2), 2, 1),
                    MixedSampler.ofLength(10, sources(3), 1, 2, 1),
                    MixedSampler.ofLength(10, List.of(source(9, 0, 10), source(1, 10, 20)), 1, 2),
                    MixedSampler.ofLength(10, List.of(source(0, 0, 10), source(1, 11, 20)), 1, 2))
                .map(Sampler::digest)
                .distinct())
        .hasSize(6);
  }
}
