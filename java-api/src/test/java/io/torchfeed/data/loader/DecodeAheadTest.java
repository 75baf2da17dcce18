// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static io.torchfeed.data.loader.NumberedFiles.assertHolds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.DeviceLane;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.LoaderInterruptedException;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.NumberedFiles.Files;
import io.torchfeed.data.loader.NumberedFiles.Shards;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of loaders whose workers decode, on a device without hardware and with another decoder. */
class DecodeAheadTest {
  private static final int SIZE = NumberedFiles.SIZE;
  private static final int BATCH = 4;
  private static final long SEED = NumberedFiles.SEED;
  private final Set<Long> streams = ConcurrentHashMap.newKeySet();

  @BeforeEach
  void load() {
    FakeDevice.load();
  }

  /** Returns the number of the current stream of this thread. */
  private static long stream() {
    long current = DeviceLane.enter(FakeDevice.NAME, 0);
    DeviceLane.enter(FakeDevice.NAME, current);
    return current;
  }

  /** Returns length, seed, epoch and index of each file on the device. */
  private Tensor decoded(List<byte[]> files, long seed, long epoch, long[] indices) {
    streams.add(stream());
    return NumberedFiles.decoded(files, seed, epoch, indices);
  }

  private static DataLoaderBuilder over(Dataset data, PackedFiles.Decoder decoder) {
    return DataLoader.over(data)
        .batchSize(BATCH)
        .seed(SEED)
        .sampler(ShuffledSampler.of(SIZE, 5))
        .device(FakeDevice.NAME)
        .afterTransfer(new DecodeStep(1, 2, decoder, FakeDevice.NAME, null));
  }

  private static DataLoaderBuilder over(PackedFiles.Decoder decoder) {
    return over(new Files(Set.of()), decoder);
  }

  private static List<Long> rest(Batches batches, long epoch) {
    List<Long> indices = new ArrayList<>();
    for (Batch batch : batches) {
      assertHolds(batch, epoch);
      Arrays.stream(batch.indices()).forEach(indices::add);
    }
    return indices;
  }

  @Test
  void batchesAreDecodedByTheirIndicesInEachEpochAndWithAnyWorkers() {
    for (int workers : new int[] {0, 1, 3}) {
      streams.clear();
      try (DataLoader loader = over(this::decoded).workers(workers).build()) {
        for (long epoch = 0; epoch < 4; epoch++) {
          try (Batches batches = loader.epoch(epoch)) {
            assertThat(rest(batches, epoch)).hasSize(SIZE).doesNotHaveDuplicates();
          }
        }
      }
      assertThat(streams).hasSizeBetween(1, Math.max(1, workers)).doesNotContain(stream());
    }
  }

  @Test
  void theNextBatchIsDecodedWhileTheConsumerHasItsOwn() {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch taken = new CountDownLatch(1);
    long[] second = new long[1];
    PackedFiles.Decoder decoder =
        (files, seed, epoch, indices) -> {
          if (indices[0] == second[0]) {
            begun.countDown();
            await(taken);
          }
          return decoded(files, seed, epoch, indices);
        };
    try (DataLoader order = over(this::decoded).build();
        Batches batches = order.epoch(1)) {
      batches.next();
      second[0] = batches.next().indices()[0];
    }
    try (DataLoader loader = over(decoder).build();
        Batches batches = loader.epoch(1)) {
      Batch first = batches.next(); // although the second one is not decoded
      await(begun); // although the consumer has not asked for it
      assertHolds(first, 1);
      taken.countDown();
      assertThat(rest(batches, 1)).hasSize(SIZE - BATCH);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(1, TimeUnit.MINUTES)).as("in time").isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFailureCostsItsBatchWhenThatIsTaken() {
    PackedFiles.Decoder decoder =
        (files, seed, epoch, indices) -> {
          if (Arrays.stream(indices).anyMatch(index -> index == 11)) {
            throw new IllegalArgumentException("image 1 (index 11): torn");
          }
          return decoded(files, seed, epoch, indices);
        };
    try (DataLoader loader = over(decoder).workers(2).build()) {
      for (long epoch = 0; epoch < 5; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          int failures = 0;
          long taken = 0;
          for (int number = 0; number < SIZE / BATCH; number++) {
            try {
              Batch batch = batches.next();
              assertThat(batch.number()).isEqualTo(number);
              assertHolds(batch, epoch);
              taken += batch.size();
            } catch (IllegalStateException e) {
              assertThat(e)
                  .hasMessageContaining("batch %d of epoch %d".formatted(number, epoch))
                  .hasCauseInstanceOf(IllegalArgumentException.class)
                  .hasMessageContaining("image 1 (index 11): torn");
              failures++;
            }
          }
          assertThat(batches.hasNext()).isFalse();
          assertThat(failures).isEqualTo(1);
          assertThat(taken).isEqualTo(SIZE - BATCH);
        }
      }
    }
  }

  @Test
  void aResumedPassDeliversWhatWasDecodedAheadAndNotTaken() {
    try (DataLoader loader = over(this::decoded).workers(2).build()) {
      List<Long> all;
      try (Batches batches = loader.epoch(2)) {
        all = rest(batches, 2);
      }
      LoaderState state;
      try (Batches batches = loader.epoch(2)) {
        batches.next();
        batches.next();
        state = batches.state();
      }
      try (Batches batches = loader.resume(state)) {
        assertThat(rest(batches, 2)).isEqualTo(all.subList(2 * BATCH, SIZE));
      }
    }
  }

  @Test
  void passesShareADecoder() {
    try (DataLoader loader = over(this::decoded).build();
        Batches first = loader.epoch(0);
        Batches second = loader.epoch(1)) {
      for (int i = 0; i < SIZE / BATCH; i++) {
        assertHolds(first.next(), 0);
        assertHolds(second.next(), 1);
      }
    }
  }

  @Test
  void aPassIsClosedDuringADecode() {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    PackedFiles.Decoder decoder =
        (files, seed, epoch, indices) -> {
          if (epoch == 0) {
            begun.countDown();
            awaitInNativeCode(over);
            ended.countDown();
          }
          return decoded(files, seed, epoch, indices);
        };
    try (DataLoader loader = over(decoder).build()) {
      try (Batches batches = loader.epoch(0)) {
        await(begun);
      } // returns although the decode has not
      try (Batches batches = loader.epoch(1)) {
        assertThat(rest(batches, 1)).hasSize(SIZE);
      }
      over.countDown();
      await(ended);
    }
  }

  /** Waits as native code does, which interrupts do not end. */
  private static void awaitInNativeCode(CountDownLatch latch) {
    boolean isOver = false;
    while (!isOver) {
      try {
        latch.await();
        isOver = true;
      } catch (InterruptedException e) {
        isOver = false;
      }
    }
  }

  @Test
  void anInterruptedConsumerCanAskAgain() {
    CountDownLatch over = new CountDownLatch(1);
    PackedFiles.Decoder decoder =
        (files, seed, epoch, indices) -> {
          await(over);
          return decoded(files, seed, epoch, indices);
        };
    try (DataLoader loader = over(decoder).build();
        Batches batches = loader.epoch(0)) {
      Thread.currentThread().interrupt();
      assertThatExceptionOfType(LoaderInterruptedException.class).isThrownBy(batches::next);
      assertThat(Thread.interrupted()).isTrue();
      over.countDown();
      assertThat(rest(batches, 0)).hasSize(SIZE);
    }
  }

  @Test
  void samplesThatAreLeftOutAreNotDecoded() {
    Set<Long> broken = Set.of(0L, 1L, 2L, 3L, 6L);
    try (DataLoader loader =
            DataLoader.over(new Files(broken))
                .batchSize(BATCH)
                .seed(SEED)
                .onFailure(FailurePolicy.skipSample())
                .device(FakeDevice.NAME)
                .afterTransfer(new DecodeStep(1, 2, this::decoded, FakeDevice.NAME, null))
                .build();
        Batches batches = loader.epoch(0)) {
      assertThat(batches.next().size()).isZero();
      Batch batch = batches.next();
      assertThat(batch.indices()).containsExactly(4, 5, 7);
      assertHolds(batch, 0);
      assertThat(rest(batches, 0)).hasSize(12);
    }
  }

  @Test
  void aStreamIsDecodedByTheNumbersOfItsSamples() {
    try (DataLoader loader =
            DataLoader.over(new Shards())
                .batchSize(BATCH)
                .workers(2)
                .seed(SEED)
                .device(FakeDevice.NAME)
                .afterTransfer(new DecodeStep(1, 2, this::decoded, FakeDevice.NAME, null))
                .build();
        Batches batches = loader.epoch(3)) {
      assertThat(rest(batches, 3)).hasSize(SIZE).doesNotHaveDuplicates();
    }
  }

  @Test
  void queuedWorkSeesItsOwnBatch() {
    try (DataLoader loader = over(this::decoded).workers(2).build()) {
      for (long epoch = 0; epoch < 60; epoch++) {
        List<Tensor> computed = new ArrayList<>();
        List<long[]> indices = new ArrayList<>();
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            indices.add(batch.indices());
            Tensor copy = torch.empty_like(batch.tensor(1));
            computed.add(copy.copy_(batch.tensor(1), true)); // queued without waiting
          }
        }
        for (int i = 0; i < computed.size(); i++) {
          long[] rows = Rows.longs(computed.get(i));
          for (int row = 0; row < BATCH; row++) {
            assertThat(rows[4 * row + 3]).isEqualTo(indices.get(i)[row]);
          }
          computed.get(i).close();
        }
      }
    }
  }

  @Test
  void stepsAfterIt() {
    Batch.Step decode = new DecodeStep(1, 2, this::decoded, FakeDevice.NAME, null);
    Batch.Step twice =
        decode
            .andThen((batch, seed) -> new Tensor[] {batch.tensor(0), batch.tensor(1)})
            .andThen((batch, seed) -> new Tensor[] {batch.tensor(1)});
    try (DataLoader loader =
            DataLoader.over(new Files(Set.of()))
                .batchSize(BATCH)
                .seed(SEED)
                .device(FakeDevice.NAME)
                .transform(
                    (tensors, random) ->
                        new Tensor[] {tensors[0].add(tensors[0]), tensors[1], tensors[2]})
                .afterTransfer(twice)
                .build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(Rows.longs(batch.tensor(0)))
          .containsExactly(0, SEED, 0, 0, 1, SEED, 0, 1, 2, SEED, 0, 2, 0, SEED, 0, 3);
    }
  }

  @Test
  void otherDevicesAndColumnsAreRefused() {
    Batch.Step other = new DecodeStep(1, 2, this::decoded, FakeDevice.OTHER, null);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                DataLoader.over(new Files(Set.of()))
                    .device(FakeDevice.NAME)
                    .afterTransfer(other)
                    .build())
        .withMessage(
            "a decoder on privateuseone:1 decodes batches for that device, got device"
                + " privateuseone:0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> fits(0, 2))
        .withMessage(
            "column 0 must be VariableLength.packed to be decoded, but only these are: [1]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> fits(1, 0))
        .withMessage("the offsets of column 1 are column 2, got 0");
  }

  private void fits(int column, int offsets) {
    DataLoader.over(new Files(Set.of()))
        .device(FakeDevice.NAME)
        .afterTransfer(new DecodeStep(column, offsets, this::decoded, FakeDevice.NAME, null))
        .build()
        .close();
  }

  @Test
  void aStepBeforeItIsRefused() {
    Batch.Step decode = new DecodeStep(1, 2, this::decoded, FakeDevice.NAME, null);
    Batch.Step first = (batch, seed) -> batch.tensors();
    try (DataLoader loader =
            DataLoader.over(new Files(Set.of()))
                .device(FakeDevice.NAME)
                .afterTransfer(first.andThen(decode))
                .build();
        Batches batches = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withMessageContaining("Step.decode is the first step");
    }
  }
}
