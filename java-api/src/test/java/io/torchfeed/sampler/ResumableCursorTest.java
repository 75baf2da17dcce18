// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of stopping and resuming. The order of seed 0, epoch 0 is 4 1 7 5 3 9 0 8 6 2. */
class ResumableCursorTest {
  private static Sampler plan(int worldSize, int rank) {
    return StridedSampler.of(RandomSampler.of(10, 0), new Part(worldSize, rank));
  }

  @ParameterizedTest
  @CsvSource({
    "2, 0, 0 6",
    "2, 1, 8 2",
    "4, 0, 0",
    "4, 1, 8",
    "4, 2, 6",
    "4, 3, 2",
    "3, 0, 0 2",
    "3, 1, 8 4"
  })
  void aDifferentNumberOfRanksDividesTheRemainder(int worldSize, int rank, String expected) {
    SamplerState state = SamplerState.of(plan(3, 0), 0, 2);
    try (ResumableCursor.OfIndices cursor = state.resume(plan(worldSize, rank))) {
      assertThat(Cursors.rest(cursor))
          .isEqualTo(Arrays.stream(expected.split(" ", -1)).mapToLong(Long::parseLong).toArray());
    }
  }

  @Test
  void aResumedCursorHasAStateOfItsOwn() {
    SamplerState first = SamplerState.of(plan(3, 0), 0, 1);
    try (ResumableCursor.OfIndices cursor = first.resume(plan(2, 1))) {
      assertThat(cursor.position()).isZero();
      assertThat(cursor.epoch()).isZero();
      assertThat(cursor.state()).isEqualTo(first);
      assertThat(Cursors.next(cursor, 2)).containsExactly(3, 0);
      assertThat(cursor.state().segments())
          .containsExactly(new EpochSegment(3, 1), new EpochSegment(2, 2));
      assertThat(cursor.state()).isEqualTo(cursor.stateAt(2));
      try (ResumableCursor.OfIndices last = cursor.state().resume(plan(3, 0))) {
        assertThat(Cursors.rest(last)).containsExactly(8);
        assertThat(last.state().segments())
            .containsExactly(
                new EpochSegment(3, 1), new EpochSegment(2, 2), new EpochSegment(3, 1));
      }
    }
  }

  @Test
  void prefetchedIndicesAreNotCounted() {
    try (ResumableCursor.OfIndices ahead = ResumableCursor.open(plan(2, 0), 0)) {
      Cursors.next(ahead, 4);
      try (ResumableCursor.OfIndices resumed = ahead.stateAt(1).resume(plan(2, 0))) {
        assertThat(Cursors.rest(resumed)).containsExactly(7, 3, 0, 6);
      }
    }
  }

  @Nested
  class Ends {
    @Test
    void aStateBeforeTheFirstIndexRepeatsTheEpoch() {
      try (ResumableCursor.OfIndices cursor = ResumableCursor.open(plan(2, 0), 7);
          ResumableCursor.OfIndices resumed = cursor.state().resume(plan(3, 1))) {
        assertThat(cursor.state().segments()).isEmpty();
        assertThat(resumed.epoch()).isEqualTo(7);
        assertThat(Cursors.rest(resumed)).isEqualTo(Cursors.indices(plan(3, 1), 7));
      }
    }

    @Test
    void aStateAtTheLastIndexLeavesNothing() {
      try (ResumableCursor.OfIndices cursor = ResumableCursor.open(plan(2, 0), 7)) {
        Cursors.next(cursor, 5);
        assertThat(cursor.state().finished()).isFalse();
        for (int worldSize : new int[] {2, 3}) {
          try (ResumableCursor.OfIndices resumed = cursor.state().resume(plan(worldSize, 1))) {
            assertThat(resumed.epoch()).isEqualTo(7);
            assertThat(resumed.next(new long[1], 0, 1)).isZero();
          }
        }
      }
    }

    @Test
    void aStateAfterTheEndIsTheNextEpoch() {
      try (ResumableCursor.OfIndices cursor = ResumableCursor.open(plan(2, 0), 7)) {
        Cursors.next(cursor, 5);
        assertThat(cursor.next(new long[1], 0, 1)).isZero();
        SamplerState state = cursor.state();
        assertThat(state.finished()).isTrue();
        assertThat(state).isEqualTo(cursor.stateAt(5).asFinished());
        try (ResumableCursor.OfIndices resumed = state.resume(plan(3, 1))) {
          assertThat(resumed.epoch()).isEqualTo(8);
          assertThat(Cursors.rest(resumed)).isEqualTo(Cursors.indices(plan(3, 1), 8));
        }
      }
    }

    @Test
    void seekingBackFromTheEndIsNotAFinishedEpoch() {
      try (ResumableCursor.OfIndices cursor = ResumableCursor.open(plan(2, 0), 7)) {
        Cursors.next(cursor, 5);
        cursor.next(new long[1], 0, 1);
        cursor.seek(2);
        assertThat(cursor.state()).isEqualTo(SamplerState.of(plan(2, 0), 7, 2));
      }
    }
  }

  @Nested
  class Closing {
    @Test
    void closingTwiceIsSilentAndUseAfterCloseFails() {
      ResumableCursor.OfIndices cursor = ResumableCursor.open(plan(2, 0), 0);
      cursor.close();
      cursor.close();
      assertThatIllegalStateException().isThrownBy(cursor::state);
      assertThatIllegalStateException().isThrownBy(() -> cursor.stateAt(0));
      assertThatIllegalStateException().isThrownBy(() -> cursor.next(new long[1], 0, 1));
    }

    @Test
    void theCursorIsClosedIfTheStateDoesNotFit() {
      Sampler plan = DistributedSequentialSampler.of(10, new Part(2, 0));
      SamplerState state = SamplerState.of(plan, 0, 5);
      SamplerState more =
          new SamplerState(
              state.plan(), 0, List.of(new EpochSegment(2, 6)), false, state.orderDigest());
      assertThatIllegalArgumentException()
          .isThrownBy(() -> more.resume(plan))
          .withMessage(
              "each rank of a segment can have delivered at most 5, got EpochSegment[worldSize=2,"
                  + " deliveredByEachRank=6]");
    }
  }

  @Nested
  class Batches {
    /** Covers every kind of plan, including user plans. */
    @Test
    void closedBatchCursorsDeliverNothing() {
      Costs costs = Costs.of(1, 2, 3, 4);
      for (BatchSampler plan :
          List.of(
              FixedSizeBatchSampler.of(SequentialSampler.of(4), 2),
              DistributedBatchSampler.ofWholeBatches(SequentialSampler.of(4), 2, Part.whole()),
              TokenBudgetBatchSampler.of(costs, 9),
              BaguaLoadBalancingBatchSampler.bySumOfCosts(
                  BaguaLoadBalancingSampler.of(costs, Part.whole()), costs, 9),
              new Pairs(7))) {
        for (BatchCursor cursor : List.of(plan.epoch(0), ResumableCursor.open(plan, 0))) {
          assertThat(cursor.delivered(1)).isPositive();
          cursor.close();
          for (Consumer<BatchCursor> call :
              List.<Consumer<BatchCursor>>of(
                  c -> c.delivered(0),
                  c -> c.next(new long[9], 0),
                  BatchCursor::position,
                  BatchCursor::remaining,
                  c -> c.seek(0))) {
            assertThatIllegalStateException().isThrownBy(() -> call.accept(cursor));
          }
        }
      }
    }

    @Test
    void deliveredRefusesPositionsOutOfRange() {
      try (BatchCursor cursor = FixedSizeBatchSampler.of(SequentialSampler.of(7), 2).epoch(0)) {
        assertThat(cursor.delivered(4)).isEqualTo(7);
        for (long position : new long[] {-1, 5, Long.MAX_VALUE}) {
          assertThatIllegalArgumentException()
              .isThrownBy(() -> cursor.delivered(position))
              .withMessage("position must be in [0, 4], got " + position);
        }
      }
    }

    @Test
    void batchesResumeAtEachPosition() {
      Pairs plan = new Pairs(7);
      for (long position = 0; position <= 4; position++) {
        SamplerState state = SamplerState.of(plan, 3, position);
        try (BatchCursor cursor = SamplerState.fromJson(state.toJson()).resume(plan)) {
          assertThat(cursor.position()).isEqualTo(position);
        }
      }
      try (BatchCursor next = SamplerState.of(plan, 3, 4).asFinished().resume(plan)) {
        assertThat(next.position()).isZero();
        assertThat(next.remaining()).isEqualTo(5);
      }
    }

    @Test
    void statesPastTheEndOrOfADifferentPlanAreRefused() {
      Pairs plan = new Pairs(7);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> SamplerState.of(plan, 3, 5))
          .withMessage("position must be in [0, 4], got 5");
      assertThatIllegalArgumentException().isThrownBy(() -> SamplerState.of(plan, -1, 0));
      SamplerState state = SamplerState.of(plan, 3, 4);
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> state.resume(new Pairs(8)))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("datasetSize"));
    }
  }

  /** Batches of two; odd epochs have 4 batches, even epochs 5. */
  private record Pairs(long datasetSize) implements BatchSampler {
    @Override
    public long batches(long epoch) {
      return epoch % 2 == 1 ? 4 : 5;
    }

    @Override
    public int maxBatchSize() {
      return 2;
    }

    @Override
    public PlanParameters parameters() {
      return PlanParameters.of("test.Pairs").with("datasetSize", datasetSize);
    }

    @Override
    public BatchCursor epoch(long epoch) {
      Cursor cursor = SequentialSampler.of(batches(epoch)).inJava().epoch(epoch);
      return new BatchCursor() {
        @Override
        public int next(long[] into, int from) {
          return cursor.next(into, from, 2);
        }

        @Override
        public long position() {
          return cursor.position();
        }

        @Override
        public void seek(long position) {
          cursor.seek(position);
        }

        @Override
        public long remaining() {
          return cursor.remaining();
        }

        @Override
        public boolean isPadding(long batch, int element) {
          return false;
        }

        @Override
        public void close() {
          cursor.close();
        }
      };
    }
  }
}
