// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Sampler;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of passes that are dropped, shared between threads, or used at the wrong time. */
@Timeout(60)
abstract class PassContract {
  private static final int SIZE = 64;
  private static final Logger LOGGER = Logger.getLogger("io.torchfeed.data");

  private final IntFunction<RowData> engine;
  private RowData data;
  private long pointers; // at the start of the test
  private final List<String> warnings = new ArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord message) {
          synchronized (warnings) {
            warnings.add(message.getMessage());
          }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  PassContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(SIZE);
    pointers = Pointer.totalCount();
    LOGGER.setUseParentHandlers(false);
    LOGGER.addHandler(handler);
  }

  @AfterEach
  void closeData() {
    LOGGER.removeHandler(handler);
    LOGGER.setUseParentHandlers(true);
    data.close();
  }

  private DataLoader loader(int workers) {
    return data.over().batchSize(4).workers(workers).build();
  }

  /** Waits until the garbage collector has found the dropped objects. */
  private void awaitWarnings(int number) throws InterruptedException {
    while (true) {
      System.gc();
      Thread.sleep(10);
      synchronized (warnings) {
        if (warnings.size() >= number) {
          return;
        }
      }
    }
  }

  /** Waits until the garbage collector has freed the tensors left open. */
  private void awaitPointers() throws InterruptedException {
    while (Pointer.totalCount() > pointers) {
      System.gc();
      Thread.sleep(10);
    }
  }

  private static void awaitObjects(long objects) throws InterruptedException {
    while (torchfeed.live_objects() > objects) {
      System.gc();
      Thread.sleep(10);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void exhaustedPassesShareAnEngineWithoutBeingClosed(int workers) {
    try (DataLoader loader = loader(workers)) {
      long objects = torchfeed.live_objects();
      List<Batches> passes = new ArrayList<>(); // keeps them reachable
      for (int epoch = 0; epoch < 30; epoch++) {
        Batches batches = loader.epoch(epoch);
        for (Batch batch : batches) {
          assertThat(batch.size()).isEqualTo(4);
        }
        assertThat(batches.hasNext()).isFalse();
        passes.add(batches);
      }
      // A slab for each batch ahead and the one that is read; how many, the scheduler decides.
      assertThat(torchfeed.live_objects() - objects).isLessThanOrEqualTo(loader.prefetch() + 1L);
      for (Batches batches : passes) {
        assertThat(batches.state().finished()).isTrue();
        batches.close();
      }
    }
    assertThat(warnings).isEmpty();
  }

  @Test
  void theLastBatchExpiresWithThePass() {
    try (DataLoader loader = loader(1);
        Batches batches = loader.epoch(0, 15)) {
      Batch last = batches.next();
      assertThat(batches.hasNext()).isFalse();
      assertThatIllegalStateException()
          .isThrownBy(() -> last.tensor(0))
          .withMessageContaining("its pass is over");
    }
  }

  private static void drop(DataLoader loader) {
    try (PointerScope scope = new PointerScope()) {
      Rows.assertHolds(loader.epoch(0).next(), 0, 1, 2, 3);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void droppedPassesAreClosedAndReportedOnce(int workers) throws Exception {
    try (DataLoader loader = loader(workers)) {
      for (int i = 0; i < 3; i++) { // more than the idle engines
        drop(loader);
      }
      long objects = torchfeed.live_objects();
      awaitWarnings(1);
      for (int i = 0; i < 10; i++) {
        drop(loader);
        awaitObjects(objects);
      }
      assertThat(warnings).hasSize(1);
      assertThat(warnings.get(0)).contains("a pass of a DataLoader was dropped", "close()");
    }
    awaitPointers();
  }

  private void dropLoader() {
    loader(2).epoch(3).next();
  }

  @Test
  void aDroppedLoaderIsClosedAndReported() throws Exception {
    long objects = torchfeed.live_objects();
    dropLoader();
    awaitObjects(objects);
    awaitWarnings(1); // the loader closes the pass, unless the pass is found first
    for (boolean found = false; !found; Thread.sleep(1)) {
      synchronized (warnings) {
        found = warnings.stream().anyMatch(text -> text.contains("a DataLoader was dropped"));
      }
    }
    awaitPointers();
  }

  private Batches passOfADroppedLoader() {
    return loader(1).epoch(0);
  }

  private static Batch batchOfADroppedPass(DataLoader loader) {
    return loader.epoch(0).next();
  }

  private static void collect() throws InterruptedException {
    for (int i = 0; i < 10; i++) {
      System.gc();
      Thread.sleep(5);
    }
  }

  private void useAPassOfADroppedLoader() throws InterruptedException {
    try (Batches batches = passOfADroppedLoader()) {
      collect();
      Rows.assertHolds(batches.next(), 0, 1, 2, 3);
      assertThat(warnings).isEmpty();
    }
  }

  @Test
  void aPassKeepsItsLoaderReachableAndABatchItsPass() throws Exception {
    try (PointerScope scope = new PointerScope()) {
      useAPassOfADroppedLoader();
    }
    awaitWarnings(1); // for the loader
    try (PointerScope scope = new PointerScope();
        DataLoader loader = loader(1)) {
      Batch batch = batchOfADroppedPass(loader);
      collect();
      Rows.assertHolds(batch, 0, 1, 2, 3);
      assertThat(batch.isPadding(0)).isFalse();
      batch.close();
    }
    awaitPointers();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void threadsThatShareAPassAreRefused(int workers) throws Exception {
    List<Throwable> refused = new ArrayList<>();
    for (int round = 0; round < 200 && refused.isEmpty(); round++) {
      try (DataLoader loader = loader(workers);
          Batches batches = loader.epoch(0)) {
        CyclicBarrier start = new CyclicBarrier(2);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          threads.add(new Thread(() -> takeAll(batches, start, refused), "reader " + i));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
          thread.join();
        }
      }
    }
    assertThat(refused).isNotEmpty();
    assertThat(refused)
        .allSatisfy(
            e ->
                assertThat(e)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("serves one thread at a time: reader ")
                    .hasMessageContaining("Batch.keep()"));
    awaitPointers(); // of batches taken while the other thread's batch was open
  }

  private static void takeAll(Batches batches, CyclicBarrier start, List<Throwable> refused) {
    try {
      start.await();
      while (batches.hasNext()) {
        Tensor values = batches.next().tensor(0);
        values.sum().close(); // another thread must not free the batch meanwhile
      }
    } catch (NoSuchElementException e) {
      // the other thread took the last batch
    } catch (Exception e) {
      if (!String.valueOf(e.getMessage()).contains("has ended")) {
        synchronized (refused) {
          refused.add(e);
        }
      }
    }
  }

  /** The batch of a live thread may still be in use: it expires, but is not freed. */
  @Test
  void aThreadThatTakesOverDoesNotFreeAnotherThreadsBatch() throws Exception {
    try (PointerScope scope = new PointerScope();
        DataLoader loader = loader(1);
        Batches batches = loader.epoch(0)) {
      CountDownLatch taken = new CountDownLatch(1);
      CountDownLatch done = new CountDownLatch(1);
      AtomicReference<@Nullable Tensor> tensor = new AtomicReference<>();
      Thread first =
          new Thread(
              () -> {
                tensor.set(batches.next().tensor(1));
                taken.countDown();
                var unused = catchThrowable(done::await);
              });
      first.start();
      taken.await();
      Rows.assertHolds(batches.next(), 4, 5, 6, 7);
      assertThat(Rows.longs(requireNonNull(tensor.get()))).containsExactly(0, 1, 2, 3);
      tensor.set(null);
      done.countDown();
      first.join();
    }
    awaitPointers();
  }

  @Test
  void aKeptBatchMayBeClosedConcurrently() throws Exception {
    try (DataLoader loader = loader(1);
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        Batch kept = batch.keep();
        CyclicBarrier start = new CyclicBarrier(3);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          threads.add(
              new Thread(
                  () -> {
                    var unused = catchThrowable(start::await);
                    kept.close();
                  }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
          thread.join();
        }
        assertThatIllegalStateException().isThrownBy(() -> kept.tensor(0));
      }
    }
  }

  @Test
  void aSamplerThatFailsTwiceOnABatchEndsThePass() {
    Sampler failing = Rows.failingFrom(3, 0, 1, 2, 3, 4, 5, 6, 7);
    try (DataLoader loader =
            data.over().sampler(failing).batchSize(2).workers(1).prefetch(1).build();
        Batches batches = loader.epoch(0)) {
      Rows.assertHolds(batches.next(), 0, 1);
      Rows.assertHolds(batches.next(), 2, 3);
      for (int attempt = 0; attempt < 2; attempt++) {
        assertThat(batches.hasNext()).isTrue();
        assertThatIllegalArgumentException().isThrownBy(batches::next).withMessage("for good");
      }
      assertThat(batches.hasNext()).isFalse();
      assertThatExceptionOfType(NoSuchElementException.class)
          .isThrownBy(batches::next)
          .withMessage("the pass over epoch 0 ended before batch 2 of 4, where its sampler failed");
      assertThat(batches.position()).isEqualTo(2);
    }
  }

  @Test
  void aBatchSamplerThatExceedsItsPromiseIsReported() {
    for (int size : new int[] {5, -1}) {
      BatchSampler lying = Rows.lying(2, size);
      try (DataLoader loader = data.over().batchSampler(lying).workers(1).build();
          Batches batches = loader.epoch(0)) {
        assertThatIllegalStateException()
            .isThrownBy(batches::next)
            .withMessageContaining("batch 0 of epoch 0")
            .withMessageContaining("maxBatchSize()");
      }
    }
    for (int largest : new int[] {0, -3}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().batchSampler(Rows.lying(largest, 1)).build().close())
          .withMessageContaining(
              "maxBatchSize() of a batch sampler must be at least 1, got " + largest);
    }
  }

  @Test
  void aLargestBatchWhoseIndicesDoNotFitTheHeapIsRefused() {
    for (int largest : new int[] {1 << 28, Integer.MAX_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().batchSampler(Rows.lying(largest, 1)).build().close())
          .withMessageContaining("maxBatchSize() of the batch sampler is " + largest)
          .withMessageContaining("raise -Xmx");
    }
  }
}
