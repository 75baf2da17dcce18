// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The loader and the JVM survive whatever the code of a stream does. */
@Timeout(60)
class FailingStreamTest {
  private static final long BAD = 1004; // the fifth sample of shard 1

  private final List<Counters> made = new ArrayList<>();
  private long objects;

  @BeforeEach
  void count() {
    objects = torchfeed.live_objects();
  }

  @AfterEach
  void leaksNoNativeObjectsOrStreams() throws InterruptedException {
    for (int i = 0; i < 200 && (torchfeed.live_objects() > objects || isAnyOpen()); i++) {
      Thread.sleep(10); // stalled workers are returning
    }
    assertThat(torchfeed.live_objects()).isEqualTo(objects);
    assertThat(isAnyOpen()).isFalse();
  }

  private boolean isAnyOpen() {
    return made.stream().anyMatch(data -> data.open().get() != 0);
  }

  private Counters data(Counters.Deed deed) {
    Counters data = Counters.with(deed, 6, 9);
    made.add(data);
    return data;
  }

  private DataLoaderBuilder loader(int workers, Counters.Deed deed) {
    return DataLoader.over(data(deed)).batchSize(3).workers(workers);
  }

  private static void fail(long value, Counters.Place place) throws IOException {
    if (value == BAD) {
      place.next++;
      throw new IOException("disk on fire");
    }
  }

  private static void failForGood(long value, Counters.Place place) throws IOException {
    if (value == BAD) {
      throw new IOException("disk on fire");
    }
  }

  private static void assertNext(Batches pass, Long... values) {
    assertThat(Counters.longs(pass.next(), 0)).containsExactly(values);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aBadSampleFailsItsBatchAndTheShardContinuesAfterIt(int workers) {
    try (DataLoader loader = loader(workers, FailingStreamTest::fail).build();
        Batches pass = loader.epoch(3)) {
      assertNext(pass, 0L, 1L, 2L);
      assertNext(pass, 1000L, 1001L, 1002L);
      assertNext(pass, 3L, 4L, 5L);
      assertThat(pass.hasNext()).isTrue();
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(pass::next)
          .withMessageMatching(
              "sample 9 of epoch 3, batch 3, worker [01]: java.io.IOException: disk on fire")
          .satisfies(e -> assertThat(List.of(e.index(), e.batch())).containsExactly(9L, 3L));
      LoaderState state = pass.state();
      for (Batches rest : List.of(pass, loader.resume(state))) {
        try (rest) {
          assertNext(rest, 1005L, 1006L, 1007L);
          assertNext(rest, 1008L);
          assertThat(rest.hasNext()).isFalse();
          assertThat(rest.state().finished()).isTrue();
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void badSamplesAreSkippedOnRequest(int workers) {
    try (DataLoader loader =
            loader(workers, FailingStreamTest::fail).onFailure(FailurePolicy.skipSample()).build();
        Batches pass = loader.epoch(0)) {
      assertNext(pass, 0L, 1L, 2L);
      assertNext(pass, 1000L, 1001L, 1002L);
      assertNext(pass, 3L, 4L, 5L);
      Batch shorter = pass.next();
      assertThat(Counters.longs(shorter, 0)).containsExactly(1003L, 1005L);
      assertThat(shorter.indices()).containsExactly(7, 11);
      assertNext(pass, 1006L, 1007L, 1008L);
      assertThat(pass.hasNext()).isFalse();
      assertThat(loader.stats().skipped()).isOne();
    }
  }

  @Test
  void badSamplesAreRetriedFromTheStartOfTheirBatch() {
    Map<Long, Integer> failures = new ConcurrentHashMap<>();
    Counters.Deed twice =
        (value, place) -> {
          boolean isBad = value == BAD || value == BAD - 1;
          if (isBad && failures.merge(value, 1, Integer::sum) <= 2) {
            place.next++;
            throw new IOException("not yet");
          }
        };
    try (DataLoader loader =
        loader(1, twice).onFailure(FailurePolicy.report().afterRetries(2)).build()) {
      assertThat(Counters.delivered(loader.epoch(0)).values())
          .isEqualTo(made.get(0).expected(3, Part.whole()));
      assertThat(failures).isEqualTo(Map.of(BAD - 1, 5, BAD, 3)); // reread with its neighbour
      failures.clear();
    }
    try (DataLoader loader =
        loader(1, twice).onFailure(FailurePolicy.skipSample().afterRetries(1)).build()) {
      assertThat(Counters.delivered(loader.epoch(0)).values().get(3)).containsExactly(1003L, 1005L);
      assertThat(loader.stats().skipped()).isOne(); // although the batch was read several times
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aShardWhoseStreamKeepsFailingIsAbandonedAndResumedThere(boolean skip) {
    FailurePolicy policy = new FailurePolicy(1, skip);
    LoaderState state;
    try (DataLoader loader = loader(2, FailingStreamTest::failForGood).onFailure(policy).build();
        Batches pass = loader.epoch(0)) {
      assertNext(pass, 0L, 1L, 2L);
      assertNext(pass, 1000L, 1001L, 1002L);
      assertNext(pass, 3L, 4L, 5L);
      if (skip) {
        assertNext(pass, 1003L);
      } else {
        assertThatExceptionOfType(SampleException.class).isThrownBy(pass::next);
      }
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(pass::next)
          .withMessageContaining("disk on fire");
      assertThat(pass.hasNext()).isFalse();
      state = pass.state();
      assertThat(state.finished()).isFalse();
    }
    try (DataLoader loader = loader(1, (value, place) -> {}).build()) {
      assertThat(Counters.delivered(loader.resume(state)).values())
          .containsExactly(List.of(1004L, 1005L, 1006L), List.of(1007L, 1008L));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void aShardThatCannotBeOpenedIsReportedOnce(int workers) {
    Counters good = data((value, place) -> {});
    StreamDataset data =
        new StreamDataset() {
          @Override
          public int shards() {
            return 2;
          }

          @Override
          public List<RowSpec> columns() {
            return good.columns();
          }

          @Override
          public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position)
              throws IOException {
            if (shard == 0) {
              throw new IOException("no such table");
            }
            return good.open(epoch, shard, position);
          }
        };
    try (DataLoader loader = DataLoader.over(data).batchSize(5).workers(workers).build();
        Batches pass = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(pass::next)
          .withMessageMatching(
              "sample 0 of epoch 0, batch 0, worker [01]: java.io.IOException: no such table");
      assertNext(pass, 1000L, 1001L, 1002L, 1003L, 1004L);
      assertNext(pass, 1005L, 1006L, 1007L, 1008L);
      assertThat(pass.hasNext()).isFalse();
      assertThat(pass.state().finished()).isFalse();
    }
  }

  @Test
  void aTimeoutReportsABlockedShardAndTheCallMayBeRepeated() {
    CountDownLatch go = new CountDownLatch(1);
    Counters.Deed blocking =
        (value, place) -> {
          if (value == BAD) {
            go.await();
          }
        };
    try (DataLoader loader = loader(2, blocking).timeout(Duration.ofMillis(200)).build();
        Batches pass = loader.epoch(4)) {
      for (int i = 0; i < 3; i++) {
        pass.next();
      }
      assertThatExceptionOfType(LoaderTimeoutException.class)
          .isThrownBy(pass::hasNext)
          .withMessageContaining("batch 3 of epoch 4 was not ready within PT0.2S")
          .withMessageContaining("has been reading sample 9 of batch 3 for");
      assertThatExceptionOfType(LoaderTimeoutException.class).isThrownBy(pass::next);
      assertThat(pass.position()).isEqualTo(3);
      go.countDown();
      assertNext(pass, 1003L, 1004L, 1005L);
      assertNext(pass, 1006L, 1007L, 1008L);
      assertThat(pass.hasNext()).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void aPassWithABlockedShardCanBeAbandonedAndTheNextOneRuns(int workers) throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    Counters.Deed first =
        (value, place) -> {
          if (value == BAD && calls.incrementAndGet() == 1) {
            blocked.countDown();
            new CountDownLatch(1).await(); // until it is interrupted
          }
        };
    try (DataLoader loader = loader(workers, first).build()) {
      try (Batches pass = loader.epoch(0)) {
        for (int i = 0; i < 3; i++) {
          pass.next();
        }
        blocked.await();
      }
      assertThat(Counters.delivered(loader.epoch(1)).values())
          .isEqualTo(made.get(0).expected(3, Part.whole()));
    }
  }

  @Test
  void anUninterruptibleWorkerIsAbandonedWithItsStream() throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    Counters.Deed deaf =
        (value, place) -> {
          if (value == BAD && calls.incrementAndGet() == 1) {
            blocked.countDown();
            while (go.getCount() > 0) {
              Thread.onSpinWait();
            }
          }
        };
    try (DataLoader loader = loader(1, deaf).build()) {
      try (Batches pass = loader.epoch(0)) {
        pass.next();
        pass.next();
        pass.next();
        blocked.await();
      }
      assertThat(made.get(0).open()).hasPositiveValue();
      assertThat(Counters.delivered(loader.epoch(1)).values())
          .isEqualTo(made.get(0).expected(3, Part.whole()));
    } finally {
      go.countDown(); // it closes its stream itself
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void closingEndsABlockedShard(int workers) throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    Counters.Deed sleepy =
        (value, place) -> {
          if (value == BAD) {
            blocked.countDown();
            new CountDownLatch(1).await(); // until it is interrupted
          }
        };
    DataLoader loader = loader(workers, sleepy).build();
    AtomicReference<Throwable> end = new AtomicReference<>();
    Thread consumer =
        new Thread(
            () -> {
              try {
                Counters.delivered(loader.epoch(0));
              } catch (Throwable e) {
                end.set(e);
              }
            });
    consumer.start();
    blocked.await();
    loader.close();
    consumer.join(10_000);
    assertThat(consumer.isAlive()).isFalse();
    assertThat(end.get()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aStreamMayCloseItsLoader(int workers) {
    CompletableFuture<DataLoader> own = new CompletableFuture<>();
    Counters.Deed closing =
        (value, place) -> {
          if (value == BAD) {
            own.join().close();
          }
        };
    DataLoader loader = loader(workers, closing).build();
    own.complete(loader);
    assertThatIllegalStateException()
        .isThrownBy(() -> Counters.delivered(loader.epoch(0)))
        .withMessageMatching(".*(closed|ended).*");
    loader.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aFailingHookIsReportedAndNothingIsLost(int workers) {
    WorkerHooks hooks =
        new WorkerHooks() {
          @Override
          public void start(int worker) throws IOException {
            throw new IOException("no connection");
          }
        };
    try (DataLoader loader = loader(workers, (value, place) -> {}).workerHooks(hooks).build();
        Batches pass = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(pass::next)
          .withMessageContaining("batch 0 of epoch 0")
          .withMessageContaining("no connection");
      assertThat(((LoaderState.StreamState) pass.state()).positions())
          .allSatisfy(position -> assertThat(position.position()).isNull());
    }
  }
}
