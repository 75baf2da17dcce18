// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.LoaderTimeoutException;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.time.Duration;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Tests of the loader's contract, with the native engine. */
class NativeLoaderTest extends LoaderContract {
  NativeLoaderTest() {
    super(RowData::tensors);
  }

  @Test
  void aTimeoutReportsASlowBatchAndTheCallMayBeRepeated() {
    long[][] plan = {{0}, new long[64], {1}}; // 256 MB takes longer than a millisecond
    int[] timeouts = new int[plan.length];
    try (TensorDataset rows =
            TensorDataset.of(torch.ones(2, 1 << 20), Tensor.create(new long[] {7, 8}, 2));
        DataLoader loader =
            DataLoader.over(rows)
                .batchSampler(Rows.batches(plan))
                .workers(1)
                .prefetch(1)
                .timeout(Duration.ofMillis(1))
                .build();
        Batches batches = loader.epoch(2)) {
      for (int batch = 0; batch < plan.length; ) {
        try {
          long[] labels = Rows.longs(batches.next().tensor(1));
          assertThat(labels).hasSize(plan[batch].length).containsOnly(batch == 2 ? 8 : 7);
          batch++;
        } catch (LoaderTimeoutException e) {
          assertThat(e.batch()).isEqualTo(batch);
          assertThat(e)
              .hasMessageMatching(
                  "batch %d of epoch 2 was not ready within PT0.001S; [01] of 1 workers idle, .*"
                      .formatted(batch));
          assertThat(batches.position()).isEqualTo(batch);
          timeouts[batch]++;
        }
      }
    }
    assertThat(timeouts[1]).isPositive();
  }
}
