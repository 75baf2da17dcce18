// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.ElasticRun;
import io.torchfeed.testing.SamplerFamilies;
import io.torchfeed.testing.SamplerFamilies.Divided;
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

/** Tests of the rest of an epoch on a different number of ranks. */
class ElasticResumeTest {
  private static final int MAX_RANKS = 13;
  private static final long SAMPLES =
      12; // divided by most numbers of ranks with and without a rest

  static Stream<Divided> divisions() {
    return SamplerFamilies.DIVISIONS.stream();
  }

  /** Stops at every step of batch size 1; these include the steps of batch size 3. */
  @ParameterizedTest
  @MethodSource("divisions")
  void betweenAnyTwoNumbersOfRanksEverySampleIsDeliveredOnce(Divided family) {
    for (Tail tail : family.tails()) {
      ElasticRun start = ElasticRun.start(family, SAMPLES, tail, 5, 2);
      for (int first = 1; first <= MAX_RANKS; first++) {
        long steps = family.plan(SAMPLES, new Part(first, 0), tail, 5).size();
        for (long step = 0; step <= steps; step++) {
          ElasticRun stopped = start.deliver(first, step);
          for (int second = 1; second <= MAX_RANKS; second++) {
            stopped.deliver(second, Long.MAX_VALUE).requireLaw(stopped, second);
          }
        }
      }
    }
  }

  @Test
  void libtorchSlicesLeaveTheirTailsInListOrder() {
    List<EpochSegment> delivered = List.of(new EpochSegment(2, 2));
    assertThat(rests(3, delivered, rank -> DistributedRandomSampler.of(10, new Part(3, rank))))
        .containsExactly(List.of(1L, 5L), List.of(9L, 7L), List.of(6L, 3L));
    assertThat(rests(1, delivered, rank -> DistributedRandomSampler.of(10, new Part(1, rank))))
        .containsExactly(List.of(1L, 5L, 9L, 7L, 6L, 3L));
    assertThat(rests(3, delivered, rank -> DistributedSequentialSampler.of(10, new Part(3, rank))))
        .containsExactly(List.of(2L, 3L), List.of(4L, 7L), List.of(8L, 9L));
  }

  /** World size 3, epoch 0: 0 2 1 5, 9 (1) 4 7, 6 (0) 3 8; padding in parentheses. */
  @Test
  void oldPaddingIsDiscardedAndTheNewEndIsPaddedFromTheStart() {
    List<EpochSegment> delivered = List.of(new EpochSegment(3, 1));
    IntFunction<Sampler> four = rank -> DistributedRandomSampler.of(10, new Part(4, rank));
    assertThat(rests(4, delivered, four))
        .containsExactly(List.of(2L, 1L), List.of(5L, 4L), List.of(7L, 3L), List.of(8L, 0L));
    assertThat(padding(four.apply(2), delivered)).containsExactly(false, false);
    assertThat(padding(four.apply(3), delivered)).containsExactly(false, true);
    assertThat(
            rests(
                4, delivered, rank -> DistributedRandomSampler.of(10, new Part(4, rank)).inJava()))
        .isEqualTo(rests(4, delivered, four));
  }

  /** World size 3 without duplicates: 2 4 6, 0 5 1, 8 3 7; sample 9 is in no slice. */
  @Test
  void droppedSamplesComeLastInTheRemainder() {
    List<EpochSegment> delivered = List.of(new EpochSegment(3, 2));
    assertThat(
            rests(
                2,
                delivered,
                rank -> DistributedRandomSampler.of(10, new Part(2, rank)).withTail(Tail.DROP)))
        .containsExactly(List.of(6L, 1L), List.of(7L, 9L));
    assertThat(
            rests(
                2,
                delivered,
                rank -> DistributedSequentialSampler.of(10, new Part(2, rank)).withTail(Tail.DROP)))
        .containsExactly(List.of(2L, 5L), List.of(8L, 9L));
  }

  @Test
  void segmentsAreAppliedInOrder() {
    List<EpochSegment> delivered = List.of(new EpochSegment(2, 2), new EpochSegment(3, 1));
    assertThat(rests(2, delivered, rank -> DistributedRandomSampler.of(10, new Part(2, rank))))
        .containsExactly(List.of(5L, 7L), List.of(3L, 0L));
  }

  @Test
  void emptySegmentsHaveNoEffect() {
    assertThat(
            rests(
                2,
                List.of(new EpochSegment(7, 0)),
                rank -> DistributedRandomSampler.of(10, new Part(2, rank))))
        .containsExactly(List.of(0L, 2L, 1L, 5L, 9L), List.of(8L, 4L, 7L, 6L, 3L));
  }

  @ParameterizedTest
  @CsvSource({"3, 5, 4", "2, 6, 5", "100, 2, 1"})
  void segmentsLongerThanTheirSliceAreRefused(int worldSize, long delivered, long most) {
    List<EpochSegment> tooLong = List.of(new EpochSegment(worldSize, delivered));
    for (Sampler plan :
        List.of(
            DistributedRandomSampler.of(10, new Part(4, 1)),
            DistributedSequentialSampler.of(10, new Part(4, 1)))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(0, tooLong))
          .withMessageContaining("can have delivered at most " + most);
    }
  }

  @Test
  void negativeEpochsAreRefused() {
    for (Sampler plan :
        List.of(
            DistributedRandomSampler.of(10, new Part(4, 1)),
            DistributedSequentialSampler.of(10, new Part(4, 1)))) {
      assertThatIllegalArgumentException().isThrownBy(() -> plan.resume(-1, List.of()));
    }
  }

  /** 7 ranks leave two samples each, 14 in all; 5 ranks take samples 0, 3, 6, 9 and 12 of them. */
  @Test
  void theRemainderOfASequenceMayBeAsLongAsALong() {
    long most = Long.MAX_VALUE;
    long seventh = most / 7;
    List<EpochSegment> delivered =
        List.of(new EpochSegment(7, seventh - 2), new EpochSegment(5, 1));
    assertThat(
            rests(4, delivered, rank -> DistributedSequentialSampler.of(most, new Part(4, rank))))
        .containsExactly(
            List.of(seventh - 1, 2 * seventh - 2, 3 * seventh - 2),
            List.of(3 * seventh - 1, 4 * seventh - 1, 5 * seventh - 2),
            List.of(6 * seventh - 2, 6 * seventh - 1, most - 1),
            List.of(0L, 1L, 2L));
  }

  /** 3 ranks pad 2^63 - 1 by two, so the last position of rank 2 exceeds the largest long. */
  @Test
  void paddingIsRecognizedPastTheLargestLong() {
    DistributedSequentialSampler plan =
        DistributedSequentialSampler.of(Long.MAX_VALUE, new Part(3, 2));
    for (Sampler each : List.of(plan, plan.inJava())) {
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
  void ordersThatDoNotFitAnArrayAreRefused(long datasetSize) {
    DistributedRandomSampler plan = DistributedRandomSampler.of(datasetSize, new Part(2, 1));
    for (Sampler each : List.of(plan, plan.inJava())) {
      assertThatThrownBy(() -> each.resume(0, List.of(new EpochSegment(3, 1))))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("at most 2147483639 indices");
    }
  }

  private static List<List<Long>> rests(
      int worldSize, List<EpochSegment> delivered, IntFunction<Sampler> plans) {
    List<List<Long>> rests = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      try (Cursor cursor = plans.apply(rank).resume(0, delivered)) {
        rests.add(Arrays.stream(Cursors.rest(cursor)).boxed().toList());
      }
    }
    return rests;
  }

  private static List<Boolean> padding(Sampler plan, List<EpochSegment> delivered) {
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
