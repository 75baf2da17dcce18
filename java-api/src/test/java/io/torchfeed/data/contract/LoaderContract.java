// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import java.util.Arrays;
import java.util.NoSuchElementException;
import java.util.function.IntFunction;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

abstract class LoaderContract {
  private static final int SIZE = 103;

  private final IntFunction<RowData> engine;
  private RowData data;

  LoaderContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(SIZE);
  }

  private final Sampler sampler = DistributedRandomSampler.of(SIZE, new Part(2, 1));

  @AfterEach
  void closeData() {
    data.close();
  }

  private long[] orderOf(long epoch) {
    long[] order = new long[(int) sampler.size()];
    try (Cursor cursor = sampler.epoch(epoch)) {
      assertThat(cursor.next(order, 0, order.length)).isEqualTo(order.length);
    }
    return order;
  }

  private DataLoader loader(int workers, int batchSize) {
    return data.over().sampler(sampler).batchSize(batchSize).workers(workers).build();
  }

  @ParameterizedTest
  @CsvSource({"0,1", "0,7", "1,7", "2,7", "4,1", "2,52", "3,1000"})
  void deliversTheSamplerOrderForAnyNumberOfWorkers(int workers, int batchSize) {
    try (DataLoader loader = loader(workers, batchSize)) {
      for (long epoch = 0; epoch < 3; epoch++) {
        long[] order = orderOf(epoch);
        int position = 0;
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            assertThat(batch.number()).isEqualTo(position / batchSize);
            int end = Math.min(order.length, position + batchSize);
            Rows.assertHolds(batch, Arrays.copyOfRange(order, position, end));
            position = end;
          }
          assertThat(batches.position()).isEqualTo(loader.batches());
        }
        assertThat(position).isEqualTo(order.length);
      }
    }
  }

  @Test
  void anIncompleteLastBatchIsDroppedOnRequest() {
    try (DataLoader loader = data.over().sampler(sampler).batchSize(10).dropLast(true).build()) {
      assertThat(loader.batches()).isEqualTo(5);
      try (Batches batches = loader.epoch(0)) {
        for (Batch batch : batches) {
          assertThat(batch.size()).isEqualTo(10);
        }
        assertThat(batches.position()).isEqualTo(5);
        assertThatThrownBy(batches::next).isInstanceOf(NoSuchElementException.class);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 4, 5, 6})
  void aPassFromTheMiddleDeliversTheRest(long from) {
    long[] order = orderOf(3);
    try (DataLoader loader = loader(2, 10);
        Batches batches = loader.epoch(3, from)) {
      int position = (int) from * 10;
      for (Batch batch : batches) {
        int end = Math.min(order.length, position + 10);
        Rows.assertHolds(batch, Arrays.copyOfRange(order, position, end));
        position = end;
      }
      assertThat(position).isGreaterThanOrEqualTo(order.length);
    }
  }

  @Test
  void passesRunConcurrently() {
    try (DataLoader loader = loader(2, 7);
        Batches first = loader.epoch(0);
        Batches second = loader.epoch(1);
        Batches third = loader.epoch(0)) {
      while (first.hasNext()) {
        Batch one = first.next();
        Batch two = second.next();
        assertThat(third.next().indices()).isEqualTo(one.indices());
        assertThat(Rows.longs(two.tensor(1))).isEqualTo(two.indices());
        assertThat(Rows.longs(one.tensor(1))).isEqualTo(one.indices());
      }
    }
  }

  @Test
  void anEmptyDatasetHasNoBatches() {
    try (TensorDataset none = Rows.dataset(0);
        DataLoader loader = DataLoader.over(none).batchSize(4).workers(1).build();
        Batches batches = loader.epoch(0)) {
      assertThat(loader.batches()).isZero();
      assertThat(batches.hasNext()).isFalse();
    }
  }

  @Test
  void theDatasetMayBeClosedDuringAPass() {
    try (DataLoader loader = loader(2, 7);
        Batches before = loader.epoch(0)) {
      data.close();
      try (Batches after = loader.epoch(0)) { // concurrent passes have separate engines
        for (Batch batch : before) {
          assertThat(Rows.longs(batch.tensor(1))).isEqualTo(batch.indices());
          assertThat(after.next().indices()).isEqualTo(batch.indices());
        }
      }
    }
  }

  @Test
  void aPassMayMoveBetweenThreads() throws Exception {
    try (DataLoader loader = loader(2, 7);
        Batches batches = loader.epoch(0)) {
      while (batches.position() < loader.batches() - 1) {
        Thread taker = new Thread(batches::next); // an open batch would fail LeakCheck
        taker.start();
        taker.join();
      }
      batches.next(); // the closing thread frees only the batches it took
      assertThat(batches.hasNext()).isFalse();
    }
  }

  @Test
  void aPointerScopeOfTheCallerFreesNoLoaderMemory() {
    try (DataLoader loader = scoped(() -> loader(2, 7));
        Batches batches = scoped(() -> loader.epoch(0))) {
      Batch batch = scoped(batches::next);
      assertThat(Rows.longs(batch.tensor(1))).isEqualTo(batch.indices());
    }
  }

  private static <T> T scoped(java.util.function.Supplier<T> body) {
    try (PointerScope scope = new PointerScope()) {
      return body.get();
    }
  }

  @ParameterizedTest
  @CsvSource({"961,3", "960,3", "959,2", "320,1", "1,1", "4611686018427387904,9"})
  void prefetchedBatchesFitTheMemoryLimit(long prefetchBytes, int prefetch) {
    try (DataLoader loader =
            data.over()
                .sampler(sampler)
                .batchSize(16) // 192 bytes in column 0 and 128 in column 1
                .prefetch(9)
                .prefetchBytes(prefetchBytes)
                .build();
        Batches batches = loader.epoch(0)) {
      assertThat(loader.prefetch()).isEqualTo(prefetch);
      long[] order = orderOf(0);
      for (int from = 0; batches.hasNext(); from += 16) {
        int end = Math.min(order.length, from + 16);
        Rows.assertHolds(batches.next(), Arrays.copyOfRange(order, from, end));
      }
    }
  }

  @Nested
  class Failures {
    @Test
    void anIndexOutsideTheDatasetFailsItsBatch() {
      Sampler plan = Rows.plan(6, 0, 1, 2, SIZE, 4, 5);
      try (DataLoader loader = data.over().sampler(plan).batchSize(2).workers(2).build();
          Batches batches = loader.epoch(9)) {
        Rows.assertHolds(batches.next(), 0, 1);
        assertThatThrownBy(batches::next)
            .isInstanceOfSatisfying(
                SampleException.class,
                e -> {
                  assertThat(e.index()).isEqualTo(SIZE);
                  assertThat(e.epoch()).isEqualTo(9);
                  assertThat(e.batch()).isEqualTo(1);
                })
            .hasMessage(
                "sample 103 of epoch 9, batch 1: the index is outside of the dataset, [0, 103)");
        Rows.assertHolds(batches.next(), 4, 5);
        assertThat(batches.hasNext()).isFalse();
      }
    }

    @Test
    void aPassContinuesWhereItStoppedAfterASamplerFailure() {
      Sampler plan = Rows.failingOnce(3, 0, 1, 2, 3, 4, 5, 6, 7);
      try (DataLoader loader =
              data.over().sampler(plan).batchSize(2).workers(1).prefetch(1).build();
          Batches batches = loader.epoch(0)) {
        Rows.assertHolds(batches.next(), 0, 1);
        Rows.assertHolds(batches.next(), 2, 3);
        assertThatThrownBy(batches::next).hasMessage("once");
        Rows.assertHolds(batches.next(), 4, 5);
        Rows.assertHolds(batches.next(), 6, 7);
      }
    }

    @Test
    void aSamplerThatEndsEarlyIsReported() {
      try (DataLoader loader = data.over().sampler(Rows.plan(6, 0, 1, 2)).batchSize(2).build();
          Batches batches = loader.epoch(0)) {
        Rows.assertHolds(batches.next(), 0, 1);
        assertThatIllegalStateException()
            .isThrownBy(batches::next)
            .withMessage("the sampler promised 6 indices but ended after 3");
      }
    }

    @Test
    void aBatchSamplerDeterminesTheBatches() {
      long[][] plan = {{4}, {0, 1, 2, 3}, {9, 5}};
      try (DataLoader loader = data.over().batchSampler(Rows.batches(plan)).build()) {
        assertThat(loader.batches(3)).isEqualTo(3);
        for (int from = 0; from <= plan.length; from++) {
          try (Batches batches = loader.epoch(0, from)) {
            for (int i = from; i < plan.length; i++) {
              Rows.assertHolds(batches.next(), plan[i]);
            }
            assertThat(batches.hasNext()).isFalse();
          }
        }
      }
    }

    @Test
    void aBatchSamplerThatEndsEarlyIsReported() {
      BatchSampler plan = Rows.batches(new long[][] {{1, 2}, {}});
      try (DataLoader loader = data.over().batchSampler(plan).build();
          Batches batches = loader.epoch(0)) {
        Rows.assertHolds(batches.next(), 1, 2);
        assertThatIllegalStateException()
            .isThrownBy(batches::next)
            .withMessage("the batch sampler promised 2 batches but ended after 1");
      }
    }

    @Test
    void aBatchSamplerExcludesOtherBatchOptions() {
      BatchSampler plan = Rows.batches(new long[][] {{1, 2}});
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().batchSampler(plan).batchSize(2).build())
          .withMessageContaining("leave out sampler, batchSize and dropLast");
    }

    @Test
    void paddingIsVisibleWhileThePassIsOpen() {
      Sampler sampler =
          DistributedSequentialSampler.of(10, new Part(4, 3)); // 9, then 0 and 1 as padding
      Batch kept;
      try (DataLoader loader = data.over().sampler(sampler).batchSize(2).build()) {
        try (Batches batches = loader.epoch(0)) {
          Batch first = batches.next();
          assertThat(first.isPadding(0)).isFalse();
          assertThat(first.isPadding(1)).isTrue();
          assertThatExceptionOfType(IndexOutOfBoundsException.class)
              .isThrownBy(() -> first.isPadding(2));
          kept = first.keep();
          assertThat(batches.next().isPadding(0)).isTrue();
          assertThat(kept.isPadding(0)).isFalse();
        }
        assertThatIllegalStateException().isThrownBy(() -> kept.isPadding(0));
        kept.close();
      }
    }

    @Test
    void optionsOutOfRangeAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().batchSize(0).build())
          .withMessage("batchSize must be at least 1, got 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().workers(-1).build())
          .withMessage("workers must be in [0, 1024], got -1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().workers(1).prefetch(0).build())
          .withMessage("prefetch must be in [1, 65536], got 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().workers(0).prefetch(2).build())
          .withMessage("prefetch needs workers, got workers 0 and prefetch 2");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().workers(0).prefetchBytes(9).build())
          .withMessage("prefetchBytes needs workers, got workers 0 and prefetchBytes 9");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().prefetchBytes(0).build())
          .withMessage("prefetchBytes must be at least 1, got 0");
      assertThatIllegalStateException()
          .isThrownBy(() -> data.over().workers(1).workers(2))
          .withMessage("workers was already set to 1");
    }

    @Test
    void aPassOutsideTheEpochIsRefused() {
      try (DataLoader loader = loader(1, 10)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> loader.epoch(0, 7))
            .withMessage("fromBatch must be in [0, 6], got 7");
        assertThatIllegalArgumentException().isThrownBy(() -> loader.epoch(-1));
      }
    }
  }
}
