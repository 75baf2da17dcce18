// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.python.PythonRandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FixedSizeBatchSamplerTest {
  private static final Sampler TEN = PythonRandomSampler.of(10, 42);

  @Test
  void batchesAreGroupsOfTheOrder() {
    long[] into = new long[5];
    try (BatchCursor cursor = FixedSizeBatchSampler.of(TEN, 4).epoch(0)) {
      assertThat(cursor.next(into, 1)).isEqualTo(4);
      assertThat(into).containsExactly(0, 2, 6, 1, 8);
      cursor.seek(2);
      assertThat(cursor.next(into, 0)).isEqualTo(2);
      assertThat(into).startsWith(3, 7);
      assertThat(cursor.position()).isEqualTo(3);
      assertThat(cursor.next(into, 5)).isZero();
    }
  }

  @Test
  void aBatchThatDoesNotFitDoesNotMoveTheCursor() {
    try (BatchCursor cursor = FixedSizeBatchSampler.of(TEN, 4).epoch(0)) {
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> cursor.next(new long[4], 1));
      assertThat(cursor.position()).isZero();
    }
  }

  @Test
  void anIncompleteLastBatchIsDroppedOnRequest() {
    var plan = FixedSizeBatchSampler.of(TEN, 4).withDropLast(true);
    assertThat(plan.batches(5)).isEqualTo(2);
    try (BatchCursor cursor = plan.epoch(0)) {
      cursor.seek(2);
      assertThat(cursor.remaining()).isZero();
      assertThat(cursor.next(new long[4], 0)).isZero();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> cursor.seek(3))
          .withMessageContaining("[0, 2]");
      assertThatIllegalArgumentException().isThrownBy(() -> cursor.seek(-1));
    }
  }

  @Test
  void theLargestBatchIsNoLongerThanTheOrder() {
    assertThat(FixedSizeBatchSampler.of(TEN, 4).maxBatchSize()).isEqualTo(4);
    assertThat(FixedSizeBatchSampler.of(TEN, Integer.MAX_VALUE).maxBatchSize()).isEqualTo(10);
    assertThat(FixedSizeBatchSampler.of(SequentialSampler.of(0), 4).maxBatchSize()).isEqualTo(1);
  }

  @Test
  void batchesReportWhichIndicesArePadding() {
    try (BatchCursor cursor =
        FixedSizeBatchSampler.of(PythonDistributedSampler.of(10, new Part(3, 2)), 3).epoch(0)) {
      assertThat(cursor.isPadding(0, 2)).isFalse();
      assertThat(cursor.isPadding(1, 0)).isTrue();
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> cursor.isPadding(1, 1));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> cursor.isPadding(2, 0));
    }
  }

  @Test
  void aClosedCursorIsRefused() {
    BatchCursor cursor = FixedSizeBatchSampler.of(TEN, 4).epoch(0);
    cursor.close();
    cursor.close();
    assertThatIllegalStateException().isThrownBy(() -> cursor.next(new long[4], 0));
    assertThatIllegalStateException().isThrownBy(cursor::position);
    assertThatIllegalStateException().isThrownBy(cursor::remaining);
    assertThatIllegalStateException().isThrownBy(() -> cursor.seek(0));
    assertThatIllegalStateException().isThrownBy(() -> cursor.isPadding(0, 0));
  }

  @Test
  void everyParameterDistinguishesPlans() {
    Set<String> digests = new HashSet<>();
    digests.add(TEN.digest());
    digests.add(FixedSizeBatchSampler.of(TEN, 4).digest());
    digests.add(FixedSizeBatchSampler.of(TEN, 5).digest());
    digests.add(FixedSizeBatchSampler.of(TEN, 4).withDropLast(true).digest());
    digests.add(FixedSizeBatchSampler.of(PythonRandomSampler.of(10, 43), 4).digest());
    assertThat(digests).hasSize(5);
  }

  @Test
  void argumentsOutOfRangeAreRefused() {
    assertRefused(() -> FixedSizeBatchSampler.of(TEN, 0), "batchSize", "got 0");
    assertRefused(() -> FixedSizeBatchSampler.of(TEN, 4).batches(-1), "epoch");
    assertRefused(() -> FixedSizeBatchSampler.of(TEN, 4).epoch(-1), "epoch");
  }

  private static void assertRefused(Runnable call, String... parts) {
    assertThatIllegalArgumentException()
        .isThrownBy(call::run)
        .satisfies(e -> assertThat(e.getMessage()).contains(parts));
  }
}
