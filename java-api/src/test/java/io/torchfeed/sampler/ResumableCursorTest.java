// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Stopping and going on. The order of seed 0, epoch 0 is 4 1 7 5 3 9 0 8 6 2. */
class ResumableCursorTest {
  private static DistributedSampler plan(int worldSize, int rank) {
    return new StridedSampler(new RandomSampler(10, 0), worldSize, rank);
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
  void anotherNumberOfRanksDividesTheRest(int worldSize, int rank, String expected) {
    SamplerState state = SamplerState.of(plan(3, 0), 0, 2);
    try (ResumableCursor cursor = state.resume(plan(worldSize, rank))) {
      assertThat(Cursors.rest(cursor))
          .isEqualTo(Arrays.stream(expected.split(" ", -1)).mapToLong(Long::parseLong).toArray());
    }
  }

  @Test
  void aResumedCursorHasAStateOfItsOwn() {
    SamplerState first = SamplerState.of(plan(3, 0), 0, 1);
    try (ResumableCursor cursor = first.resume(plan(2, 1))) {
      assertThat(cursor.position()).isZero();
      assertThat(cursor.epoch()).isZero();
      assertThat(cursor.state()).isEqualTo(first);
      assertThat(Cursors.next(cursor, 2)).containsExactly(3, 0);
      assertThat(cursor.state().segments()).containsExactly(new Segment(3, 1), new Segment(2, 2));
      assertThat(cursor.state()).isEqualTo(cursor.stateAt(2));
      try (ResumableCursor last = cursor.state().resume(plan(3, 0))) {
        assertThat(Cursors.rest(last)).containsExactly(8);
        assertThat(last.state().segments())
            .containsExactly(new Segment(3, 1), new Segment(2, 2), new Segment(3, 1));
      }
    }
  }

  @Test
  void whatIsPrefetchedDoesNotCount() {
    try (ResumableCursor ahead = ResumableCursor.open(plan(2, 0), 0)) {
      Cursors.next(ahead, 4);
      try (ResumableCursor resumed = ahead.stateAt(1).resume(plan(2, 0))) {
        assertThat(Cursors.rest(resumed)).containsExactly(7, 3, 0, 6);
      }
    }
  }

  @Nested
  class Ends {
    @Test
    void aStateBeforeTheFirstIndexRepeatsTheEpoch() {
      try (ResumableCursor cursor = ResumableCursor.open(plan(2, 0), 7);
          ResumableCursor resumed = cursor.state().resume(plan(3, 1))) {
        assertThat(cursor.state().segments()).isEmpty();
        assertThat(resumed.epoch()).isEqualTo(7);
        assertThat(Cursors.rest(resumed)).isEqualTo(Cursors.indices(plan(3, 1), 7));
      }
    }

    @Test
    void aStateAtTheLastIndexLeavesNothing() {
      try (ResumableCursor cursor = ResumableCursor.open(plan(2, 0), 7)) {
        Cursors.next(cursor, 5);
        assertThat(cursor.state().finished()).isFalse();
        for (int worldSize : new int[] {2, 3}) {
          try (ResumableCursor resumed = cursor.state().resume(plan(worldSize, 1))) {
            assertThat(resumed.epoch()).isEqualTo(7);
            assertThat(resumed.next(new long[1], 0, 1)).isZero();
          }
        }
      }
    }

    @Test
    void aStateAfterTheEndIsTheNextEpoch() {
      try (ResumableCursor cursor = ResumableCursor.open(plan(2, 0), 7)) {
        Cursors.next(cursor, 5);
        assertThat(cursor.next(new long[1], 0, 1)).isZero();
        SamplerState state = cursor.state();
        assertThat(state.finished()).isTrue();
        assertThat(state).isEqualTo(cursor.stateAt(5).asFinished());
        try (ResumableCursor resumed = state.resume(plan(3, 1))) {
          assertThat(resumed.epoch()).isEqualTo(8);
          assertThat(Cursors.rest(resumed)).isEqualTo(Cursors.indices(plan(3, 1), 8));
        }
      }
    }

    @Test
    void goingBackFromTheEndIsNoEnd() {
      try (ResumableCursor cursor = ResumableCursor.open(plan(2, 0), 7)) {
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
    void twiceIsSilentAndEndsAllUse() {
      ResumableCursor cursor = ResumableCursor.open(plan(2, 0), 0);
      cursor.close();
      cursor.close();
      assertThatIllegalStateException().isThrownBy(cursor::state);
      assertThatIllegalStateException().isThrownBy(() -> cursor.stateAt(0));
      assertThatIllegalStateException().isThrownBy(() -> cursor.next(new long[1], 0, 1));
    }

    @Test
    void happensWhenAStateDoesNotFit() {
      DistributedSampler plan = new DistributedSequentialSampler(10, 2, 0);
      SamplerState state = SamplerState.of(plan, 0, 5);
      SamplerState more =
          new SamplerState(state.plan(), 0, List.of(new Segment(2, 6)), false, state.orderDigest());
      assertThatIllegalArgumentException()
          .isThrownBy(() -> more.resume(plan))
          .withMessage("position must be in [0, 5], got 6");
    }
  }

  @Nested
  class Batches {
    @Test
    void areResumedAtEachPosition() {
      Pairs plan = new Pairs(7);
      for (long position = 0; position <= 4; position++) {
        SamplerState state = SamplerState.ofBatches(plan, 3, position);
        try (BatchCursor cursor = SamplerState.fromBytes(state.toBytes()).resumeBatches(plan)) {
          assertThat(cursor.position()).isEqualTo(position);
        }
      }
      try (BatchCursor next = SamplerState.ofBatches(plan, 3, 4).asFinished().resumeBatches(plan)) {
        assertThat(next.position()).isZero();
        assertThat(next.remaining()).isEqualTo(5);
      }
    }

    @Test
    void pastTheEndOrOfAnotherPlanAreRefused() {
      Pairs plan = new Pairs(7);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> SamplerState.ofBatches(plan, 3, 5))
          .withMessage("position must be in [0, 4], got 5");
      assertThatIllegalArgumentException().isThrownBy(() -> SamplerState.ofBatches(plan, -1, 0));
      SamplerState state = SamplerState.ofBatches(plan, 3, 4);
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> state.resumeBatches(new Pairs(8)))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("datasetSize"));
    }
  }

  /** Batches of two; each odd epoch has 4, each even one 5. */
  private record Pairs(long datasetSize) implements BatchSampler {
    @Override
    public long batches(long epoch) {
      return epoch % 2 == 1 ? 4 : 5;
    }

    @Override
    public int largestBatch() {
      return 2;
    }

    @Override
    public PlanParameters parameters() {
      return PlanParameters.of("test.Pairs").with("datasetSize", datasetSize);
    }

    @Override
    public BatchCursor epoch(long epoch) {
      Cursor cursor = new SequentialSampler(batches(epoch)).inJava().epoch(epoch);
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
