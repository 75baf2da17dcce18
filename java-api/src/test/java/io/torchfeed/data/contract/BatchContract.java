// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

abstract class BatchContract {
  private final IntFunction<RowData> engine;
  private RowData data;

  BatchContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(64);
  }

  @AfterEach
  void closeData() {
    data.close();
  }

  private DataLoader loader(int workers) {
    return data.over().batchSize(4).workers(workers).build();
  }

  @Test
  void aBatchExpiresWhenTheNextIsTaken() {
    try (DataLoader loader = loader(1);
        Batches batches = loader.epoch(0)) {
      Batch first = batches.next();
      Tensor held = first.tensor(0);
      batches.next();
      assertThatIllegalStateException()
          .isThrownBy(() -> first.tensor(0))
          .withMessage(
              "batch 0 of epoch 0 has ended: the next one was taken, or its pass is over or"
                  + " closed; use it before that, or keep() it");
      assertThat(held.isNull()).isTrue();
      assertThatIllegalStateException().isThrownBy(first::indices);
      assertThat(first.size()).isEqualTo(4);
    }
  }

  @Test
  void aColumnMayBeClosedBeforeTheOthers() {
    try (DataLoader loader = loader(1);
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      long[] labels = Rows.longs(batch.tensor(1)).clone();
      batch.tensor(0).close();
      batch.tensor(0).close();
      assertThat(batch.tensor(0).isNull()).isTrue();
      assertThat(Rows.longs(batch.tensor(1))).isEqualTo(labels);
      batch.tensor(1).close();
      assertThat(batches.next().tensor(1).isNull()).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void keptBatchesOutliveTheLoader(int workers) {
    List<Batch> kept = new ArrayList<>();
    try (DataLoader loader = loader(workers);
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        kept.add(batch.keep());
      }
    }
    for (int i = 0; i < kept.size(); i++) {
      Rows.assertHolds(kept.get(i), 4L * i, 4L * i + 1, 4L * i + 2, 4L * i + 3);
      kept.get(i).close();
      kept.get(i).close();
      assertThatIllegalStateException().isThrownBy(kept.get(i)::keep);
    }
  }

  @Test
  void aViewHeldTooLongIsNeverOverwritten() {
    List<Tensor> views = new ArrayList<>();
    try (DataLoader loader = loader(2);
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        views.add(batch.tensor(1).slice());
      }
    }
    for (int i = 0; i < views.size(); i++) {
      assertThat(Rows.longs(views.get(i)))
          .containsExactly(4L * i, 4L * i + 1, 4L * i + 2, 4L * i + 3);
    }
  }

  @Test
  void slabsAreReusedWhenNoBatchIsHeld() {
    Set<Long> addresses = new HashSet<>();
    try (DataLoader loader = loader(2)) {
      for (int epoch = 0; epoch < 50; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            batch.tensor(0).clone().close();
            addresses.add(batch.tensor(0).data_ptr().address());
          }
        }
      }
    }
    assertThat(addresses).hasSizeLessThanOrEqualTo(9); // eight prefetched, one held by the consumer
  }

  @Test
  void anUnknownColumnIsRefused() {
    try (DataLoader loader = loader(1);
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThatThrownBy(() -> batch.tensor(2)).isInstanceOf(IndexOutOfBoundsException.class);
    }
  }
}
