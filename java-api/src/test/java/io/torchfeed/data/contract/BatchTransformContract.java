// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of transforms of batches. */
abstract class BatchTransformContract {
  private static final int SIZE = 10;

  private final IntFunction<RowData> engine;
  private RowData data;

  BatchTransformContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(SIZE);
  }

  @AfterEach
  void closeData() {
    data.close();
  }

  private DataLoaderBuilder over(int workers, BatchTransform transform) {
    return over(data, workers, transform);
  }

  private static DataLoaderBuilder over(RowData data, int workers, BatchTransform transform) {
    return data.over().batchSize(4).workers(workers).transform(transform);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void aBatchMayBeChangedInPlaceOrReplaced(int workers) {
    BatchTransform transform =
        (tensors, random) ->
            new Tensor[] {
              tensors[1].add_(new Scalar(100)), tensors[0].to(torch.ScalarType.Long).sum(1)
            };
    try (DataLoader loader = over(workers, transform).build()) {
      for (long epoch = 0; epoch < 2; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            for (int row = 0; row < batch.size(); row++) {
              long index = batch.indices()[row];
              assertThat(Rows.longs(batch.tensor(0))[row]).isEqualTo(index + 100);
              assertThat(Rows.longs(batch.tensor(1))[row]).isEqualTo(9 * index + 3);
            }
          }
        }
      }
    }
  }

  @Test
  void aTransformMayReturnScalarsOrNoTensors() {
    BatchTransform transform =
        (tensors, random) ->
            random.nextBoolean() ? new Tensor[] {tensors[1].sum()} : new Tensor[] {};
    try (DataLoader loader = over(2, transform).build()) {
      for (long epoch = 0; epoch < 8; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          batches.forEachRemaining(batch -> assertThat(batch.size()).isIn(4, 2));
        }
      }
      assertThat(loader.stats().rows()).isEqualTo(8 * SIZE);
      assertThat(loader.stats().bytes()).isPositive().isLessThan(8 * 3 * Long.BYTES);
    }
  }

  @Test
  @SuppressWarnings("NullAway") // a transform of another language may return null
  void aTransformThatReturnsNullIsNamed() {
    try (DataLoader loader = over(2, (tensors, random) -> null).build();
        Batches batches = loader.epoch(0)) {
      assertThatThrownBy(batches::next)
          .hasMessageContaining("the batch transform returned null instead of tensors");
    }
  }

  @Test
  void aTransformMayReturnADifferentNumberOfTensors() {
    List<Batch> kept = new ArrayList<>();
    try (DataLoader loader =
            over(2, (tensors, random) -> new Tensor[] {tensors[0].narrow(0, 0, 1)}).build();
        Batches batches = loader.epoch(0)) {
      batches.forEach(batch -> kept.add(batch.keep()));
    }
    assertThat(kept).hasSize(3);
    for (int i = 0; i < 3; i++) {
      assertThat(kept.get(i).tensor(0).sizes().vec().get()).containsExactly(1, Rows.WIDTH);
      assertThat(kept.get(i).tensor(0).data_ptr_float().get(0)).isEqualTo(12f * i);
      kept.get(i).close();
    }
  }

  @Test
  void randomNumbersDependOnlyOnSeedEpochAndBatch() {
    List<Long> numbers = random(data, 0, 0);
    assertThat(numbers).hasSize(6).doesNotHaveDuplicates();
    assertThat(random(data, 3, 0)).isEqualTo(numbers);
    assertThat(random(data, 3, 1)).doesNotContainAnyElementsOf(numbers);
    try (RowData samples = RowData.samples(SIZE)) {
      assertThat(random(samples, 3, 0)).isEqualTo(numbers);
    }
  }

  private static List<Long> random(RowData data, int workers, long epoch) {
    List<Long> numbers = new ArrayList<>();
    BatchTransform transform =
        (tensors, random) ->
            new Tensor[] {Tensor.create(random.nextLong()), Tensor.create(random.nextLong())};
    try (DataLoader loader = over(data, workers, transform).seed(7).build();
        Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        numbers.add(batch.tensor(0).item_long());
        numbers.add(batch.tensor(1).item_long());
      }
    }
    return numbers;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void aFailureIsDeliveredWithItsBatch(int workers) {
    BatchTransform transform =
        (tensors, random) -> {
          if (tensors[1].select(0, 0).item_long() == 4) {
            throw new IOException("no such palette");
          }
          return tensors;
        };
    try (DataLoader loader = over(workers, transform).build();
        Batches batches = loader.epoch(0)) {
      Rows.assertHolds(batches.next(), 0, 1, 2, 3);
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withMessageContaining("batch 1 of epoch 0")
          .withMessageContaining("no such palette")
          .withCauseInstanceOf(IOException.class);
      Rows.assertHolds(batches.next(), 8, 9);
      assertThat(batches.hasNext()).isFalse();
    }
  }

  @Test
  void batchesThatAreNotTakenAreFreed() {
    BatchTransform transform = (tensors, random) -> new Tensor[] {tensors[0].clone(), tensors[1]};
    try (DataLoader loader = over(2, transform).build()) {
      for (long epoch = 0; epoch < 200; epoch++) { // LeakCheck finds the others
        try (Batches batches = loader.epoch(epoch)) {
          batches.next();
        }
      }
    }
  }
}
