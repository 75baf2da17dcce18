// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.SamplerFamilies.Divided;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rest of an epoch on another number of ranks. */
class ElasticResumeTest {
  private static final int MOST_RANKS = 17;
  private static final long SAMPLES = 16;

  static Stream<Divided> divisions() {
    return SamplerFamilies.DIVISIONS.stream();
  }

  /** Every step at batch size 1; those at batch size 3 are among them. */
  @ParameterizedTest
  @MethodSource("divisions")
  void betweenAnyTwoNumbersOfRanksEverySampleIsDeliveredOnce(Divided family) {
    for (Tail tail : family.tails()) {
      ElasticRun start = ElasticRun.start(family, SAMPLES, tail, 5, 2);
      for (int first = 1; first <= MOST_RANKS; first++) {
        long steps = family.plan(SAMPLES, first, 0, tail, 5).size();
        for (long step = 0; step <= steps; step++) {
          ElasticRun stopped = start.deliver(first, step);
          for (int second = 1; second <= MOST_RANKS; second++) {
            stopped.deliver(second, Long.MAX_VALUE).requireLaw(stopped, second);
          }
        }
      }
    }
  }

  @Test
  void libtorchsSlicesLeaveTheirTailsInTheOrderOfTheList() {
    List<Segment> delivered = List.of(new Segment(2, 2));
    assertThat(rests(3, delivered, rank -> new DistributedRandomSampler(10, 3, rank)))
        .containsExactly(List.of(1L, 5L), List.of(9L, 7L), List.of(6L, 3L));
    assertThat(rests(1, delivered, rank -> new DistributedRandomSampler(10, 1, rank)))
        .containsExactly(List.of(1L, 5L, 9L, 7L, 6L, 3L));
    assertThat(rests(3, delivered, rank -> new DistributedSequentialSampler(10, 3, rank)))
        .containsExactly(List.of(2L, 3L), List.of(4L, 7L), List.of(8L, 9L));
  }

  /** W 3, epoch 0: 0 2 1 5, 9 (1) 4 7, 6 (0) 3 8; in parentheses padding. */
  @Test
  void oldPaddingIsDiscardedAndTheNewEndPaddedWithTheHeadOfTheOrder() {
    List<Segment> delivered = List.of(new Segment(3, 1));
    IntFunction<DistributedSampler> four = rank -> new DistributedRandomSampler(10, 4, rank);
    assertThat(rests(4, delivered, four))
        .containsExactly(List.of(2L, 1L), List.of(5L, 4L), List.of(7L, 3L), List.of(8L, 0L));
    assertThat(padding(four.apply(2), delivered)).containsExactly(false, false);
    assertThat(padding(four.apply(3), delivered)).containsExactly(false, true);
    assertThat(rests(4, delivered, rank -> new DistributedRandomSampler(10, 4, rank).inJava()))
        .isEqualTo(rests(4, delivered, four));
  }

  /** W 3 without duplicates: 2 4 6, 0 5 1, 8 3 7; the sample 9 is in no slice. */
  @Test
  void whatWasCutOffComesLastInTheRest() {
    List<Segment> delivered = List.of(new Segment(3, 2));
    assertThat(rests(2, delivered, rank -> new DistributedRandomSampler(10, 2, rank, Tail.DROP)))
        .containsExactly(List.of(6L, 1L), List.of(7L, 9L));
    assertThat(
            rests(2, delivered, rank -> new DistributedSequentialSampler(10, 2, rank, Tail.DROP)))
        .containsExactly(List.of(2L, 5L), List.of(8L, 9L));
  }

  @Test
  void segmentsFollowOneAnother() {
    List<Segment> delivered = List.of(new Segment(2, 2), new Segment(3, 1));
    assertThat(rests(2, delivered, rank -> new DistributedRandomSampler(10, 2, rank)))
        .containsExactly(List.of(5L, 7L), List.of(3L, 0L));
  }

  @Test
  void segmentsInWhichNothingWasDeliveredLeaveNoTrace() {
    assertThat(
            rests(2, List.of(new Segment(7, 0)), rank -> new DistributedRandomSampler(10, 2, rank)))
        .containsExactly(List.of(0L, 2L, 1L, 5L, 9L), List.of(8L, 4L, 7L, 6L, 3L));
  }

  @ParameterizedTest
  @CsvSource({"3, 5, 4", "2, 6, 5", "100, 2, 1"})
  void segmentsLongerThanTheirSliceAreRefused(int worldSize, long delivered, long most) {
    List<Segment> tooLong = List.of(new Segment(worldSize, delivered));
    for (DistributedSampler plan :
        List.of(
            new DistributedRandomSampler(10, 4, 1), new DistributedSequentialSampler(10, 4, 1))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(0, tooLong))
          .withMessageContaining("can have delivered " + most + " at most");
    }
  }

  @Test
  void negativeEpochsAreRefused() {
    for (DistributedSampler plan :
        List.of(
            new DistributedRandomSampler(10, 4, 1), new DistributedSequentialSampler(10, 4, 1))) {
      assertThatIllegalArgumentException().isThrownBy(() -> plan.resume(-1, List.of()));
    }
  }

  /** 7 ranks leave two samples each, 14 in all; 5 ranks take numbers 0, 3, 6, 9 and 12 of them. */
  @Test
  void theRestOfASequenceIsLimitedByTheNumbersOnly() {
    long most = Long.MAX_VALUE;
    long seventh = most / 7;
    List<Segment> delivered = List.of(new Segment(7, seventh - 2), new Segment(5, 1));
    assertThat(rests(4, delivered, rank -> new DistributedSequentialSampler(most, 4, rank)))
        .containsExactly(
            List.of(seventh - 1, 2 * seventh - 2, 3 * seventh - 2),
            List.of(3 * seventh - 1, 4 * seventh - 1, 5 * seventh - 2),
            List.of(6 * seventh - 2, 6 * seventh - 1, most - 1),
            List.of(0L, 1L, 2L));
  }

  /** 3 ranks pad 2^63 - 1 by two, so that the last position of rank 2 is past the largest long. */
  @Test
  void paddingIsKnownPastTheLargestNumber() {
    DistributedSequentialSampler plan = new DistributedSequentialSampler(Long.MAX_VALUE, 3, 2);
    for (DistributedSampler each : List.of(plan, plan.inJava())) {
      try (Cursor cursor = each.epoch(0)) {
        long end = plan.size();
        assertThat(padding(cursor, end - 3, end)).containsExactly(false, true, true);
        cursor.seek(end - 3);
        assertThat(Cursors.next(cursor, 3)).containsExactly(Long.MAX_VALUE - 1, 0, 1);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {Integer.MAX_VALUE - 6L, 1L << 40, (1L << 60) - 100})
  void ordersThatFitNoArrayAreRefusedInJava(long datasetSize) {
    DistributedRandomSampler plan = new DistributedRandomSampler(datasetSize, 2, 1);
    for (DistributedSampler each : List.of(plan, plan.inJava())) {
      assertThatThrownBy(() -> each.resume(0, List.of(new Segment(3, 1))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("at most 2147483639 indices");
    }
  }

  private static List<List<Long>> rests(
      int worldSize, List<Segment> delivered, IntFunction<DistributedSampler> plans) {
    List<List<Long>> rests = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      try (Cursor cursor = plans.apply(rank).resume(0, delivered)) {
        rests.add(Arrays.stream(Cursors.rest(cursor)).boxed().toList());
      }
    }
    return rests;
  }

  private static List<Boolean> padding(DistributedSampler plan, List<Segment> delivered) {
    try (Cursor cursor = plan.resume(0, delivered)) {
      return padding(cursor, 0, cursor.remaining());
    }
  }

  private static List<Boolean> padding(Cursor cursor, long from, long to) {
    List<Boolean> padding = new ArrayList<>();
    for (long position = from; position < to; position++) {
      padding.add(cursor.isPadding(position));
    }
    return padding;
  }
}
