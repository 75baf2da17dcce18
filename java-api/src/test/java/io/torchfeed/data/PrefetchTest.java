// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.pass.Prefetch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PrefetchTest {
  @ParameterizedTest
  @CsvSource({
    "1,1,8", // small batches
    "1,1048576,8",
    "1,1398101,6", // as many as fit in 8 MiB
    "1,2097153,4", // two per worker and two more
    "1,1000000000000,4",
    "4,1,10",
    "0,1,1"
  })
  void byDefaultMoreSmallBatchesArePrefetched(int workers, long batchBytes, int batches) {
    assertThat(Prefetch.of(null, null, workers).batches(batchBytes)).isEqualTo(batches);
  }

  @Test
  void anExplicitNumberIsUsed() {
    assertThat(Prefetch.of(3, null, 5).batches(1)).isEqualTo(3);
    assertThat(Prefetch.of(100, null, 1).batches(1L << 40)).isEqualTo(100);
  }

  @ParameterizedTest
  @CsvSource({"999,1", "2999,2", "3000,3", "1,1", "9223372036854775807,5"})
  void prefetchFitsTheMemoryLimitButIsAtLeastOne(long bytes, int batches) {
    assertThat(Prefetch.of(5, bytes, 1).batches(1000)).isEqualTo(batches);
  }

  @Test
  void aBatchOfZeroBytesIsSmall() {
    assertThat(Prefetch.of(null, 7L, 1).batches(0)).isEqualTo(7);
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Prefetch.of(0, null, 1))
        .withMessage("prefetch must be in [1, 65536], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Prefetch.of(null, 0L, 1))
        .withMessage("prefetchBytes must be at least 1, got 0");
  }
}
