// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

/** Tests of batches delivered as they become ready, with the native engine. */
class NativeUnorderedTest extends UnorderedContract {
  NativeUnorderedTest() {
    super(RowData::tensors);
  }

  @Test
  void aSlowBatchIsOvertaken() {
    long[][] plan = {new long[1 << 21], {1}, {0}, {1}}; // 16 MB, then a few bytes each
    boolean overtaken = false;
    try (TensorDataset rows = TensorDataset.of(Tensor.create(new long[] {7, 8}, 2));
        DataLoader loader =
            DataLoader.over(rows)
                .batchSampler(Rows.batches(plan))
                .workers(2)
                .prefetch(4)
                .inOrder(false)
                .build()) {
      for (int epoch = 0; epoch < 5_000 && !overtaken; epoch++) { // depends on thread scheduling
        try (Batches batches = loader.epoch(epoch)) {
          Batch first = batches.next();
          overtaken = first.number() > 0;
          if (overtaken) {
            assertThat(batches.position()).isZero();
            assertThat(((LoaderState.IndexState) batches.state()).deliveredAhead())
                .containsExactly(first.number());
          }
        }
      }
    }
    assertThat(overtaken).isTrue();
  }
}
