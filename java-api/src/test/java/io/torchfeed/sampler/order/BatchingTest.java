// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BatchingTest {
  @ParameterizedTest
  @CsvSource({
    "100, 25, 4, 4",
    "100, 33, 4, 3",
    "39, 13, 3, 3",
    "0, 5, 0, 0",
    "3, 64, 1, 0",
    "64, 64, 1, 1"
  })
  void theLastShortBatchIsKeptOrDropped(long samples, int batchSize, long kept, long dropped) {
    assertThat(new Batching(samples, batchSize, false).count()).isEqualTo(kept);
    assertThat(new Batching(samples, batchSize, true).count()).isEqualTo(dropped);
  }

  @Test
  void batchesAreConsecutive() {
    Batching batching = new Batching(100, 33, false);
    assertThat(LongStream.range(0, 4).map(batching::start)).containsExactly(0L, 33L, 66L, 99L);
    assertThat(LongStream.range(0, 4).mapToInt(batching::size)).containsExactly(33, 33, 33, 1);
    assertThat(new Batching(Long.MAX_VALUE, 2, false).start(Long.MAX_VALUE / 2))
        .isEqualTo(Long.MAX_VALUE - 1);
  }

  @Test
  void thereIsNoBatchPastTheLast() {
    Batching batching = new Batching(100, 33, true);
    assertThatThrownBy(() -> batching.start(3)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> batching.size(-1)).isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void sizesBelowTheirRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Batching(10, 0, false))
        .withMessage("batchSize must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Batching(-1, 1, false))
        .withMessage("samples must be at least 0, got -1");
  }
}
