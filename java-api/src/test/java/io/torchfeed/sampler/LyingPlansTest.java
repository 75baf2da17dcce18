// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.balance.BalanceReport;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.order.ConcatenatedSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.MixedSampler;
import io.torchfeed.sampler.order.StridedSampler;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that user plans which break their promises are reported at the first broken promise. */
class LyingPlansTest {
  @Nested
  class InBatches {
    @ParameterizedTest
    @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
    void aNonPositiveLargestBatchIsRefusedOnOpening(int maxBatchSize) {
      Batches plan = new Batches(maxBatchSize, 1);
      String message = "maxBatchSize of Lying must be at least 1, got " + maxBatchSize;
      SamplerState state = new SamplerState(plan.parameters(), 0, List.of(), false, 0);
      assertThatIllegalStateException()
          .isThrownBy(() -> ResumableCursor.open(plan, 0))
          .withMessage(message);
      assertThatIllegalStateException().isThrownBy(() -> state.resume(plan)).withMessage(message);
      assertThatIllegalStateException()
          .isThrownBy(() -> BalanceReport.over(Costs.of(1), 1).batchSamplers(rank -> plan))
          .withMessage(message);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MIN_VALUE, 4, Integer.MAX_VALUE})
    void anImpossibleBatchSizeIsRefusedOnReading(int size) {
      Batches plan = new Batches(3, size);
      try (ResumableCursor.OfBatches cursor = ResumableCursor.open(plan, 0)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> cursor.next(new long[8], 0))
            .withMessage(
                "batch 0 of epoch 0 of Lying must have 0 to 3 indices, up to maxBatchSize(), got %d",
                size);
      }
    }

    @Test
    void aBatchLargerThanDeclaredIsReported() {
      Batches plan = new Batches(3, 3, 5);
      try (ResumableCursor.OfBatches cursor = ResumableCursor.open(plan, 0)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> cursor.next(new long[4], 1))
            .withMessage("batch 0 of epoch 0 of Lying does not fit its maxBatchSize(), 3")
            .withCauseInstanceOf(IndexOutOfBoundsException.class);
        // An array shorter than maxBatchSize() is the caller's mistake.
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
            .isThrownBy(() -> cursor.next(new long[2], 0));
      }
    }

    @Test
    void aNegativeNumberOfBatchesIsRefused() {
      Batches plan =
          new Batches(3, 1) {
            @Override
            public long batches(long epoch) {
              return -4;
            }
          };
      assertThatIllegalStateException()
          .isThrownBy(() -> ResumableCursor.open(plan, 0))
          .withMessage(
              "a cursor of Lying must have at least 0 elements left, got -4 at position 0");
      assertThat(plan.open).isZero();
    }
  }

  @Nested
  class InSamples {
    @ParameterizedTest
    @ValueSource(ints = {-1, 5, Integer.MAX_VALUE})
    void anImpossibleNumberOfIndicesIsRefused(int read) {
      Sampler plan = new Samples(8, read, false);
      try (ResumableCursor.OfIndices cursor = ResumableCursor.open(plan, 0)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> cursor.next(new long[9], 0, 4))
            .withMessage("a cursor of Lying must write 0 to 4 indices, got %d at position 0", read);
      }
      try (BatchCursor cursor = FixedSizeBatchSampler.of(plan, 4).epoch(0)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> cursor.next(new long[9], 0))
            .withMessageContaining("must write 4 indices at position 0, got " + read);
      }
    }

    @Test
    void aMissingCursorIsRefused() {
      Sampler plan = new Samples(8, 1, true);
      List<Runnable> uses =
          List.of(
              () -> ResumableCursor.open(plan, 0),
              () -> plan.indices(0).forEach(index -> {}),
              () -> new SamplerState(plan.parameters(), 0, List.of(), false, 0).resume(plan),
              () -> FixedSizeBatchSampler.of(plan, 4).epoch(0),
              () -> FixedSizeBatchSampler.of(plan, 4).resume(0, List.of()),
              () -> StridedSampler.of(plan, new Part(2, 1)).epoch(0));
      for (Runnable use : uses) {
        assertThatIllegalStateException()
            .isThrownBy(use::run)
            .withMessage("epoch and resume of Lying must return a cursor, got null");
      }
    }

    /** Composed plans read at any position. */
    @Test
    void anEarlyEndIsRefusedInsideOtherPlans() {
      for (int read : new int[] {0, -1, 9, 100}) {
        try (Cursor cursor =
            StridedSampler.of(new Samples(8, read, false), new Part(2, 1)).epoch(0)) {
          assertThatIllegalStateException()
              .isThrownBy(() -> cursor.next(new long[2], 0, 2))
              .withMessageContaining("a cursor of Lying must write 1 to 8 indices, got " + read);
        }
      }
    }

    @Test
    void aNegativeSizeIsRefusedInsideOtherPlans() {
      MixedSampler.Source source = new MixedSampler.Source(new Samples(-3, 1, false), 0);
      assertThat(
              Arrays.asList(
                  org.assertj.core.api.Assertions.catchThrowable(
                      () -> ConcatenatedSampler.of(List.of(source))),
                  org.assertj.core.api.Assertions.catchThrowable(
                      () -> MixedSampler.ofLength(4, List.of(source), 1))))
          .allMatch(IllegalArgumentException.class::isInstance);
    }
  }

  /** Batches that claim {@code claimed} indices and write {@code written}. */
  private static class Batches implements BatchSampler {
    private final int maxBatchSize;
    private final int claimed;
    private final int written;
    private int open;

    Batches(int maxBatchSize, int claimed) {
      this(maxBatchSize, claimed, 1);
    }

    Batches(int maxBatchSize, int claimed, int written) {
      this.maxBatchSize = maxBatchSize;
      this.claimed = claimed;
      this.written = written;
    }

    @Override
    public long batches(long epoch) {
      return 2;
    }

    @Override
    public int maxBatchSize() {
      return maxBatchSize;
    }

    @Override
    public PlanParameters parameters() {
      return PlanParameters.of("test.Lying");
    }

    @Override
    public String toString() {
      return "Lying";
    }

    @Override
    public BatchCursor epoch(long epoch) {
      open++;
      return new BatchCursor() {
        private long position;

        @Override
        public int next(long[] into, int from) {
          for (int i = 0; i < written; i++) {
            into[from + i] = i;
          }
          position++;
          return claimed;
        }

        @Override
        public long position() {
          return position;
        }

        @Override
        public void seek(long position) {
          this.position = position;
        }

        @Override
        public long remaining() {
          return batches(epoch) - position;
        }

        @Override
        public boolean isPadding(long batch, int element) {
          return false;
        }

        @Override
        public void close() {
          open--;
        }
      };
    }
  }

  /**
   * A plan whose cursors, unless they are missing, report {@code read} indices written, whatever
   * was requested.
   */
  private record Samples(long size, int read, boolean isMissing) implements Sampler {
    @Override
    public PlanParameters parameters() {
      return PlanParameters.of("test.Lying");
    }

    @Override
    public String toString() {
      return "Lying";
    }

    @Override
    @SuppressWarnings("NullAway") // the broken promise
    public Cursor epoch(long epoch) {
      return isMissing
          ? null
          : new Cursor() {
            @Override
            public int next(long[] into, int from, int count) {
              return read;
            }

            @Override
            public long position() {
              return 0;
            }

            @Override
            public void seek(long position) {}

            @Override
            public long remaining() {
              return size;
            }

            @Override
            public boolean isPadding(long position) {
              return false;
            }

            @Override
            public void close() {}
          };
    }
  }
}
