// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.RankConsistency;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Samplers written by a user: their abilities without code of their own. */
class OwnSamplersTest {
  private static final class EveryOther extends ComputedSampler {
    private final long datasetSize;
    private final String kind;

    EveryOther(long datasetSize) {
      this(datasetSize, "example.EveryOther");
    }

    EveryOther(long datasetSize, String kind) {
      super(datasetSize / 2);
      this.datasetSize = datasetSize;
      this.kind = kind;
    }

    @Override
    protected long index(long epoch, long position) {
      return 2 * position + epoch % 2;
    }

    @Override
    public PlanParameters parameters() {
      return PlanParameters.of(kind).with("datasetSize", datasetSize);
    }
  }

  @Nested
  class AComputedSampler {
    private final Sampler plan = new EveryOther(10);

    @Test
    void deliversItsFunction() {
      assertThat(plan.indices(0)).containsExactly(0L, 2L, 4L, 6L, 8L);
      assertThat(plan.indices(1)).containsExactly(1L, 3L, 5L, 7L, 9L);
    }

    @Test
    void isResumedAtAnyPosition() {
      try (ResumableCursor.OfIndices cursor = SamplerState.of(plan, 1, 3).resume(plan)) {
        long[] rest = new long[5];
        assertThat(cursor.next(rest, 0, 5)).isEqualTo(2);
        assertThat(rest).startsWith(7, 9);
      }
    }

    @Test
    void isDividedAgainWhenTheWorldSizeChanges() {
      Sampler two = StridedSampler.of(new EveryOther(24), new Part(2, 0));
      SamplerState state = SamplerState.of(two, 0, 3);
      List<Long> rest = new ArrayList<>();
      for (int rank = 0; rank < 3; rank++) {
        try (ResumableCursor.OfIndices cursor =
            state.resume(StridedSampler.of(new EveryOther(24), new Part(3, rank)))) {
          long[] indices = new long[2];
          assertThat(cursor.next(indices, 0, 2)).isEqualTo(2);
          rest.addAll(List.of(indices[0], indices[1]));
        }
      }
      assertThat(rest).containsExactlyInAnyOrder(12L, 14L, 16L, 18L, 20L, 22L);
    }

    @Test
    void isComparedBySamplesOfItsOrder() {
      SamplerState state = SamplerState.of(plan, 0, 1);
      Sampler other =
          new ComputedSampler(5) {
            @Override
            protected long index(long epoch, long position) {
              return position;
            }

            @Override
            public PlanParameters parameters() {
              return plan.parameters();
            }
          };
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> state.resume(other))
          .withMessageContaining("order digest")
          .withMessageEndingWith("epoch, position and the parameters of the plan alone");
      assertThat(RankConsistency.digest(StridedSampler.of(plan, Part.whole()), 0, 2))
          .isNotEqualTo(RankConsistency.digest(StridedSampler.of(other, Part.whole()), 0, 2));
    }

    @Test
    void refusesSizesOutOfRangeAndNegativeIndices() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new EveryOther(-2))
          .withMessageContaining("size must be in [0, ");
      Sampler negative =
          new ComputedSampler(3) {
            @Override
            protected long index(long epoch, long position) {
              return 1 - position;
            }

            @Override
            public PlanParameters parameters() {
              return PlanParameters.of("example.Negative");
            }

            @Override
            public String toString() {
              return "Negative";
            }
          };
      assertThatIllegalStateException()
          .isThrownBy(() -> negative.indices(0).toArray())
          .withMessage("index(0, 2) of Negative must be at least 0, got -1");
      assertThatIllegalArgumentException().isThrownBy(() -> negative.epoch(-1));
    }
  }

  /** A user's own division, with a name for its tail that no class of torchfeed uses. */
  private record Halves(long datasetSize, Part part) implements Sampler {
    @Override
    public long size() {
      return (datasetSize - part.rank() + part.worldSize() - 1) / part.worldSize();
    }

    @Override
    public Tail tail() {
      return Tail.UNEVEN;
    }

    @Override
    public Cursor epoch(long epoch) {
      return StridedSampler.of(order(datasetSize), part).withTail(Tail.UNEVEN).epoch(epoch);
    }

    private static Sampler order(long datasetSize) {
      return ShuffledSampler.of(datasetSize, 7);
    }

    @Override
    public long[] probe(long epoch, int ranks) {
      return order(datasetSize).probe(epoch, 1);
    }

    @Override
    public PlanParameters order() {
      return PlanParameters.of("example.Halves").with("datasetSize", datasetSize);
    }

    @Override
    public PlanParameters parameters() {
      return order().with(part);
    }
  }

  @Nested
  class ADividedPlan {
    @Test
    void mayDifferInSizeBetweenRanks() {
      List<long[]> gathered = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        int own = rank;
        gathered.add(
            new long[] {RankConsistency.digest(new Halves(5, new Part(2, rank)), 0, 1), own});
      }
      assertThat(gathered.get(0)[0]).isEqualTo(gathered.get(1)[0]);
      RankConsistency.beforeEpoch(
          new Halves(5, new Part(2, 0)), 0, 1, mine -> gathered.toArray(new long[0][]));
    }

    @Test
    void isResumedByItsShorterRanksToo() {
      SamplerState state = SamplerState.of(new Halves(5, new Part(2, 0)), 0, 3);
      try (ResumableCursor.OfIndices cursor = state.resume(new Halves(5, new Part(2, 1)))) {
        assertThat(cursor.remaining()).isZero();
      }
    }

    @Test
    void thatCannotDivideTheRestSaysSo() {
      SamplerState state = SamplerState.of(new Halves(5, new Part(2, 0)), 0, 1);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> state.resume(new Halves(5, new Part(3, 0))))
          .withMessageContaining("cannot be divided again");
    }
  }

  @Nested
  class ADividedSampler {
    private static final Sampler TEN = SequentialSampler.of(10).inJava();

    @Test
    void deliversItsFunction() {
      assertThat(new BackAndForth(TEN, new Part(4, 0), Tail.PAD).indices(0))
          .containsExactly(0L, 7L, 8L);
      assertThat(new BackAndForth(TEN, new Part(4, 3), Tail.PAD).indices(0))
          .containsExactly(3L, 4L, 1L);
      assertThat(new BackAndForth(TEN, new Part(4, 3), Tail.DROP).indices(0))
          .containsExactly(3L, 4L);
    }

    @Test
    void givesTheRestToWhomItsFunctionNames() {
      Sampler six = SequentialSampler.of(6).inJava();
      assertThat(new BackAndForth(six, new Part(4, 0), Tail.UNEVEN).indices(0)).containsExactly(0L);
      assertThat(new BackAndForth(six, new Part(4, 3), Tail.UNEVEN).indices(0))
          .containsExactly(3L, 4L);
    }

    @Test
    void isDividedAgainWhenTheWorldSizeChanges() {
      SamplerState state = SamplerState.of(new BackAndForth(TEN, new Part(2, 0), Tail.PAD), 0, 2);
      List<Long> rest = new ArrayList<>();
      for (int rank = 0; rank < 3; rank++) {
        Sampler plan = new BackAndForth(TEN, new Part(3, rank), Tail.PAD);
        try (ResumableCursor.OfIndices cursor = state.resume(plan)) {
          long[] indices = new long[2];
          assertThat(cursor.next(indices, 0, 2)).isEqualTo(2);
          rest.addAll(List.of(indices[0], indices[1]));
        }
      }
      assertThat(rest).containsExactly(4L, 9L, 5L, 8L, 6L, 7L);
    }

    @Test
    void refusesAPlaceOutsideOfItsStep() {
      Sampler plan =
          new DividedSampler("outside", TEN, new Part(2, 1), Tail.PAD) {
            @Override
            protected int place(long step, int rank, int worldSize) {
              return rank + 1;
            }
          };
      try (Cursor cursor = plan.epoch(0)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> cursor.next(new long[1], 0, 1))
            .withMessageStartingWith("place(0, 1, 2) of ")
            .withMessageEndingWith(" must be in [0, 1], got 2");
      }
    }
  }

  @Nested
  class AStreamOfIndices {
    @Test
    void readsPlansOfAnyKind() {
      for (Sampler plan :
          List.of(
              ShuffledSampler.of(3000, 3),
              RandomSampler.of(2500, 1),
              ShuffledSampler.of(0, 1),
              StridedSampler.of(SequentialSampler.of(10), new Part(3, 2)))) {
        long[] expected = new long[(int) plan.size()];
        try (Cursor cursor = plan.epoch(4)) {
          if (expected.length > 0) {
            cursor.next(expected, 0, expected.length);
          }
        }
        assertThat(plan.indices(4).toArray()).isEqualTo(expected);
        try (LongStream some = plan.indices(4)) {
          assertThat(some.limit(2).toArray()).isEqualTo(LongStream.of(expected).limit(2).toArray());
        }
      }
    }

    @Test
    void opensTheEpochWhenItIsRead() {
      Sampler failing =
          new Sampler() {
            @Override
            public long size() {
              return 3;
            }

            @Override
            public Cursor epoch(long epoch) {
              throw new IllegalStateException("no memory");
            }

            @Override
            public PlanParameters parameters() {
              return PlanParameters.of("example.Failing");
            }
          };
      LongStream stream = failing.indices(0);
      assertThatIllegalStateException().isThrownBy(stream::sum).withMessage("no memory");
      assertThatIllegalArgumentException().isThrownBy(() -> failing.indices(-1));
    }
  }
}
