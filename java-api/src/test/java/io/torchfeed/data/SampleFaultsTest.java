// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.RowOwner;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.BatchEngineFactory;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.engine.NativeEngineOptions;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the misbehaviour of one sample does not affect others. */
@Timeout(60)
class SampleFaultsTest {
  private static final int TRIES = 50;

  /** Floats of 2 MiB, which take less than a slice of a wait. */
  private static final long LARGE_ROW = 1L << 19;

  /** An action that writes a row of int64. */
  private interface Deed {
    void write(long index, SampleWriter sample) throws Exception;
  }

  private record Rows64(long size, int width, Deed deed) implements Dataset {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64, width));
    }

    @Override
    public void read(long index, SampleWriter sample) throws Exception {
      deed.write(index, sample);
    }
  }

  private static DataLoaderBuilder over(int size, Deed deed) {
    return DataLoader.over(new Rows64(size, 1, deed)).batchSize(size);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void anInterruptLeftByASampleDoesNotFailTheNextOne(int workers) {
    Deed leaving =
        (index, sample) -> {
          Thread.sleep(1); // fails if the previous sample left its interrupt
          sample.putLong(0, index);
          Thread.currentThread().interrupt();
        };
    try (DataLoader loader = over(4, leaving).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(0, 1, 2, 3);
    } finally {
      assertThat(Thread.interrupted()).isEqualTo(workers == 0);
    }
  }

  private record Counting(int shards, AtomicInteger reads) implements StreamDataset {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64));
    }

    @Override
    public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position) {
      return new StreamDataset.SampleStream() {
        private long next;

        @Override
        public boolean next(SampleWriter sample) throws Exception {
          Thread.sleep(1); // fails if the previous sample left its interrupt
          reads.incrementAndGet();
          if (next == 4) {
            return false;
          }
          sample.putLong(0, next++);
          Thread.currentThread().interrupt();
          return true;
        }

        @Override
        public String position() {
          return Long.toString(next);
        }
      };
    }
  }

  @Test
  void anInterruptLeftByAStreamSampleDoesNotFailTheNextOne() {
    try (DataLoader loader =
            DataLoader.over(new Counting(1, new AtomicInteger())).batchSize(4).build();
        Batches batches = loader.epoch(0)) {
      assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(0, 1, 2, 3);
      assertThat(batches.hasNext()).isFalse();
    }
  }

  @Test
  void aWriterUsedByAnotherThreadDoesNotChangeTheSample() {
    int width = 200_000;
    AtomicReference<@Nullable Throwable> refused = new AtomicReference<>();
    Deed shared =
        (index, sample) -> {
          AtomicBoolean done = new AtomicBoolean();
          RandomGenerator random = sample.random();
          Thread other =
              new Thread(
                  () -> {
                    while (!done.get()) {
                      try {
                        sample.putLong(0, -1);
                        refused.set(new AssertionError("a foreign thread may put"));
                      } catch (IllegalStateException e) {
                        refused.compareAndSet(null, e);
                      }
                      if (draws(random) || draws(sample)) {
                        refused.set(new AssertionError("a foreign thread may draw"));
                      }
                    }
                  });
          other.start();
          for (long i = 0; i < width; i++) {
            sample.putLong(0, i);
          }
          done.set(true);
          other.join();
        };
    try (DataLoader loader = DataLoader.over(new Rows64(1, width, shared)).build();
        Batches batches = loader.epoch(0)) {
      long[] values = Rows.longs(batches.next().tensor(0));
      for (int i = 0; i < width; i++) {
        assertThat(values[i]).isEqualTo(i);
      }
    }
    assertThat(refused.get()).isInstanceOf(IllegalStateException.class);
  }

  private static boolean draws(RandomGenerator random) {
    try {
      var unused = random.nextLong();
      return true;
    } catch (IllegalStateException e) {
      return false;
    }
  }

  private static boolean draws(SampleWriter sample) {
    try {
      return sample.random() != null;
    } catch (IllegalStateException e) {
      return false;
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aDatasetMayQueryThePositionOfItsPass(int workers) {
    CompletableFuture<Batches> pass = new CompletableFuture<>();
    Deed asking =
        (index, sample) -> {
          Batches own = pass.join();
          assertThat(own.waitNanos()).isNotNegative();
          assertThat(own.state().epoch()).isEqualTo(own.state().epoch());
          sample.putLong(0, own.position());
        };
    try (DataLoader loader =
            DataLoader.over(new Rows64(6, 1, asking)).batchSize(2).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      pass.complete(batches);
      int taken = 0;
      for (Batch batch : batches) {
        assertThat(LongStream.of(Rows.longs(batch.tensor(0)))).allMatch(position -> position <= 3);
        taken++;
      }
      assertThat(taken).isEqualTo(3);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aDatasetThatReadsItsOwnPassIsRefused(int workers) throws Exception {
    CompletableFuture<Batches> pass = new CompletableFuture<>();
    CountDownLatch inside = new CountDownLatch(1);
    Deed reading =
        (index, sample) -> {
          inside.await();
          pass.join().next();
        };
    try (DataLoader loader = over(1, reading).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      pass.complete(batches);
      if (workers == 0) {
        inside.countDown();
      } else {
        new Thread(
                () -> {
                  try {
                    Thread.sleep(50); // by then the consumer is reading, or the worker reads first
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                  inside.countDown();
                })
            .start();
      }
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withCauseInstanceOf(IllegalStateException.class);
    }
  }

  /** An exception whose message cannot be read. */
  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException("no words");
    }
  }

  @Test
  void anExceptionWhoseMessageThrowsIsStillDelivered() {
    Deed failing =
        (index, sample) -> {
          throw new Unspeakable();
        };
    try (DataLoader loader = over(1, failing).build();
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withCauseInstanceOf(Unspeakable.class)
          .withMessageContaining("Unspeakable")
          .satisfies(e -> assertThat(e.worker()).isEqualTo(OptionalInt.of(0)));
    }
  }

  @Test
  void anInterruptEndsTheWaitForABatchAndTheCallMayBeRepeated() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    Deed waiting =
        (index, sample) -> {
          go.await();
          sample.putLong(0, index);
        };
    try (DataLoader loader = over(2, waiting).build();
        Batches batches = loader.epoch(0)) {
      for (int i = 0; i < 2; i++) {
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(LoaderInterruptedException.class)
            .isThrownBy(batches::next)
            .withMessage("the thread was interrupted while it waited for batch 0");
        assertThat(Thread.interrupted()).isTrue();
      }
      go.countDown();
      assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(0, 1);
    }
  }

  private static BatchEngineFactory oneWorker(TensorDataset data) {
    return BatchEngineFactory.ofLibtorch(
        RowOwner.share(data, "test"),
        new NativeEngineOptions(1, 1, 1, true, null, 0, new LoaderMeter(1, false)));
  }

  private static void requestOne(BatchEngine engine) {
    engine.rewind(0);
    IndexRequest request = new IndexRequest(1);
    request.size = 1;
    engine.request(request);
  }

  @Test
  void anInterruptEndsAWaitInNativeCode() {
    try (TensorDataset data = TensorDataset.of(Tensor.create(7L, 8L));
        BatchEngineFactory factory = oneWorker(data)) {
      try (BatchEngine engine = factory.start()) {
        requestOne(engine); // but no worker is started
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(LoaderInterruptedException.class)
            .isThrownBy(() -> engine.take(0));
        assertThat(Thread.interrupted()).isTrue();
        engine.start();
        LoadedBatch batch = engine.take(0);
        assertThat(Rows.longs(batch.tensors[0])).containsExactly(7);
        batch.tensors[0].close();
      }
    }
  }

  /** A batch that is ready in time is taken; on a busy machine, several tries may be. */
  @Test
  void anInterruptedThreadDoesNotBeginToWaitInNativeCode() {
    try (TensorDataset data = TensorDataset.of(torch.ones(2, LARGE_ROW));
        BatchEngineFactory factory = oneWorker(data)) {
      int waits = 0;
      while (waits < TRIES && !isInterruptedBeforeItWaits(factory)) {
        waits++;
      }
      assertThat(waits).isLessThan(TRIES);
    }
  }

  /** Asks, interrupted, for a batch that a worker gathers for some milliseconds. */
  private static boolean isInterruptedBeforeItWaits(BatchEngineFactory factory) {
    try (BatchEngine engine = factory.start()) {
      engine.start();
      requestOne(engine);
      Thread.currentThread().interrupt();
      LoadedBatch batch;
      boolean isInterrupted = false;
      try {
        batch = engine.take(0);
      } catch (LoaderInterruptedException e) {
        isInterrupted = true;
        assertThat(Thread.interrupted()).isTrue();
        batch = engine.take(0);
      }
      Thread.interrupted();
      assertThat(batch.tensors[0].shape()).containsExactly(1, LARGE_ROW);
      batch.tensors[0].close();
      return isInterrupted;
    }
  }

  @Test
  void aWriterIsClosedAfterItsSample() {
    List<SampleWriter> kept = new ArrayList<>();
    Deed keeping =
        (index, sample) -> {
          kept.add(sample);
          sample.putLong(0, index);
        };
    try (DataLoader loader = over(1, keeping).build();
        Batches batches = loader.epoch(0)) {
      batches.next();
      assertThatIllegalStateException().isThrownBy(() -> kept.get(0).index());
      assertThatIllegalStateException().isThrownBy(() -> kept.get(0).epoch());
      assertThatIllegalStateException().isThrownBy(() -> kept.get(0).random());
    }
  }
}
