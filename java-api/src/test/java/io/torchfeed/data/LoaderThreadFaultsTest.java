// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.testing.ThreadStop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.assertj.core.api.ThrowableAssert;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests in which threads of the Java engine are killed by an error wherever they block. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LoaderThreadFaultsTest {
  private static final int SIZE = 24;
  private static final int BATCH = 2;
  private static final Place NOWHERE = Place.CLOSE; // a dataset has no such place

  /** A place where user code blocks, once, until its thread is killed. */
  private enum Place {
    START_HOOK,
    SAMPLE,
    TRANSFORM,
    STOP_HOOK,
    OPEN,
    NEXT,
    POSITION,
    CLOSE
  }

  private final AtomicReference<@Nullable Thread> blocked = new AtomicReference<>();
  private final CountDownLatch reached = new CountDownLatch(1);
  private final AtomicBoolean isArmed = new AtomicBoolean(true);

  private void block(Place here, Place wanted) throws InterruptedException {
    if (here == wanted && isArmed.getAndSet(false)) {
      blocked.set(Thread.currentThread());
      reached.countDown();
      new CountDownLatch(1).await();
    }
  }

  private static Runnable quietly(ThrowableAssert.ThrowingCallable body) {
    return () -> {
      var unused = catchThrowable(body);
    };
  }

  private void stopBlocked() throws InterruptedException {
    reached.await();
    Thread thread = requireNonNull(blocked.get());
    while (thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    ThreadStop.stop(thread);
  }

  private final class Blocking implements Dataset, WorkerHooks, BatchTransform {
    private final Place wanted;

    Blocking(Place wanted) {
      this.wanted = wanted;
    }

    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) throws Exception {
      block(Place.SAMPLE, wanted);
      Thread killed = blocked.get();
      if (wanted == Place.START_HOOK && killed != null && killed != Thread.currentThread()) {
        killed.join(20_000); // so that it gets a batch before the other worker has filled all
      }
      sample.putLong(0, index);
    }

    @Override
    public void start(int worker) throws Exception {
      block(Place.START_HOOK, wanted);
    }

    @Override
    public void stop(int worker) throws Exception {
      block(Place.STOP_HOOK, wanted);
    }

    @Override
    public Tensor[] apply(Tensor[] tensors, RandomGenerator random) throws Exception {
      block(Place.TRANSFORM, wanted);
      return tensors;
    }
  }

  private DataLoader loader(Place wanted, int workers) {
    Blocking data = new Blocking(wanted);
    return DataLoader.over(data)
        .workerHooks(data)
        .transform(data)
        .batchSize(BATCH)
        .workers(workers)
        .build();
  }

  /** Takes all batches, and returns the failures, which are of the library's types. */
  private static List<Throwable> takeAll(Batches batches, List<Long> seen) {
    List<Throwable> failures = new ArrayList<>();
    while (batches.hasNext()) {
      try {
        Batch batch = batches.next();
        for (long value : Rows.longs(batch.tensor(0))) {
          seen.add(value);
        }
      } catch (SampleException | IllegalStateException | LoaderWorkerException e) {
        failures.add(e);
      }
    }
    return failures;
  }

  private static void assertEpochWorks(DataLoader loader, long epoch) {
    List<Long> seen = new ArrayList<>();
    try (Batches batches = loader.epoch(epoch)) {
      assertThat(takeAll(batches, seen)).isEmpty();
    }
    assertThat(seen).hasSize(SIZE);
  }

  @ParameterizedTest
  @CsvSource({"START_HOOK,1", "START_HOOK,2", "SAMPLE,1", "SAMPLE,2", "TRANSFORM,1", "TRANSFORM,2"})
  void aKilledWorkerFailsItsBatchAndTheNextEpochWorks(Place place, int workers) throws Exception {
    try (DataLoader loader = loader(place, workers)) {
      List<Long> seen = new ArrayList<>();
      try (Batches batches = loader.epoch(0)) {
        Thread stopper = new Thread(quietly(this::stopBlocked));
        stopper.start();
        if (place == Place.START_HOOK) {
          stopper.join(); // the other worker would fill all batches
        }
        List<Throwable> failures = takeAll(batches, seen);
        stopper.join();
        assertThat(failures).hasSize(1);
        assertThat(failures.get(0)).hasRootCauseInstanceOf(ThreadDeath.class);
      }
      assertThat(seen).hasSize(SIZE - BATCH);
      assertEpochWorks(loader, 1);
    }
  }

  @Test
  void aWorkerKilledInItsStopHookStallsNothing() throws Exception {
    DataLoader loader = loader(Place.STOP_HOOK, 2);
    assertEpochWorks(loader, 0);
    Thread closer = new Thread(loader::close);
    closer.start();
    stopBlocked();
    closer.join(20_000);
    assertThat(closer.isAlive()).isFalse();
  }

  private static List<Thread> workers() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("torchfeed-worker-"))
        .toList();
  }

  private static boolean isIn(Thread thread, String method) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getMethodName().equals(method));
  }

  /**
   * Waits until the only workers are two that wait for work: they hold no memory then that would
   * leak with them.
   */
  private static List<Thread> idleWorkers() throws InterruptedException {
    while (true) {
      List<Thread> workers = workers(); // some may belong to a loader closed just before
      if (workers.size() == 2 && workers.stream().allMatch(worker -> isIn(worker, "parkNanos"))) {
        return workers;
      }
      Thread.sleep(1);
    }
  }

  /** Idle workers poll first, and park after 10 ms. */
  @ParameterizedTest
  @ValueSource(longs = {0, 1, 100})
  void aKilledIdleWorkerIsReportedAndReplaced(long millis) throws Exception {
    try (DataLoader loader = loader(NOWHERE, 2);
        Batches batches = loader.epoch(0)) {
      batches.next();
      List<Thread> ended = idleWorkers();
      Thread.sleep(millis);
      ended.forEach(ThreadStop::stop);
      for (Thread thread : ended) {
        thread.join(1_000); // one that was just about to wait ends only with its next batch
      }
      List<Long> seen = new ArrayList<>();
      List<Throwable> failures = takeAll(batches, seen);
      assertThat(failures).isNotEmpty();
      assertThat(failures).allSatisfy(e -> assertThat(e).hasRootCauseInstanceOf(ThreadDeath.class));
      batches.close();
      assertEpochWorks(loader, 1);
    }
  }

  @Test
  void idleWorkersKilledBetweenPassesAreReplaced() throws Exception {
    try (DataLoader loader = loader(NOWHERE, 2)) {
      assertEpochWorks(loader, 0);
      for (Thread thread : idleWorkers()) {
        ThreadStop.stop(thread);
        thread.join(20_000);
      }
      assertEpochWorks(loader, 1);
    }
  }

  private final class BlockingStream implements StreamDataset {
    private final Place wanted;

    BlockingStream(Place wanted) {
      this.wanted = wanted;
    }

    @Override
    public int shards() {
      return 2;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64));
    }

    @Override
    public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position)
        throws Exception {
      block(Place.OPEN, wanted);
      return new StreamDataset.SampleStream() {
        private long next = position == null ? 0 : Long.parseLong(position);

        @Override
        public boolean next(SampleWriter sample) throws Exception {
          block(Place.NEXT, wanted);
          if (next == SIZE / 2) {
            return false;
          }
          sample.putLong(0, next++);
          return true;
        }

        @Override
        public String position() throws Exception {
          block(Place.POSITION, wanted);
          return Long.toString(next);
        }

        @Override
        public void close() throws Exception {
          block(Place.CLOSE, wanted);
        }
      };
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"OPEN", "NEXT", "POSITION", "CLOSE"})
  void aWorkerKilledInAStreamCostsABatchOrAShardAndTheNextEpochWorks(Place place) throws Exception {
    try (DataLoader loader =
        DataLoader.over(new BlockingStream(place)).batchSize(BATCH).workers(2).build()) {
      List<Long> seen = new ArrayList<>();
      try (Batches batches = loader.epoch(0)) {
        Thread stopper = new Thread(quietly(this::stopBlocked));
        stopper.start();
        List<Throwable> failures = takeAll(batches, seen);
        stopper.join();
        assertThat(failures).hasSize(place == Place.CLOSE ? 0 : 1); // failures of close are ignored
      }
      assertThat(seen.size()).isBetween(SIZE / 2, SIZE);
      assertEpochWorks(loader, 1);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aConsumerKilledWhileWaitingLeavesThePassUsable(boolean polls) throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    Dataset held =
        new Dataset() {
          @Override
          public long size() {
            return 1;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.INT64));
          }

          @Override
          public void read(long index, SampleWriter sample) throws Exception {
            go.await();
            sample.putLong(0, index);
          }
        };
    try (DataLoader loader = DataLoader.over(held).workers(1).build();
        Batches batches = loader.epoch(0)) {
      Thread consumer = new Thread(quietly(batches::next));
      consumer.start();
      Thread.sleep(polls ? 1 : 100);
      ThreadStop.stop(consumer);
      consumer.join(20_000);
      assertThat(consumer.isAlive()).isFalse();
      go.countDown();
      assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(0);
    }
  }
}
