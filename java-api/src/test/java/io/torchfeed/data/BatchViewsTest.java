// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of passes as a Java stream. */
@Timeout(60)
class BatchViewsTest {
  @Test
  void aStreamDeliversTheRemainingBatchesAndClosesThePass() {
    try (DataLoader loader =
        DataLoader.over(new RowData.Samples(10)).batchSize(3).workers(2).build()) {
      Batches batches = loader.epoch(0);
      batches.next();
      try (Stream<Batch> stream = batches.stream()) {
        assertThat(stream.mapToLong(Batch::size).sum()).isEqualTo(7);
      }
      assertThatIllegalStateException().isThrownBy(batches::next);
    }
  }

  @Test
  void aStreamDeliversTheBatchesOfAStreamDataset() {
    try (DataLoader loader = DataLoader.over(Counters.of(5, 3)).batchSize(2).workers(1).build();
        Stream<Batch> stream = loader.epoch(0).stream()) {
      assertThat(stream.mapToLong(Batch::size).sum()).isEqualTo(8);
    }
  }
}
