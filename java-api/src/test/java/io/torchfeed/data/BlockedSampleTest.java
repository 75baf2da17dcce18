// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static io.torchfeed.data.MisbehavingDataset.SIZE;
import static io.torchfeed.data.MisbehavingDataset.loader;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.data.MisbehavingDataset.Deed;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Samples that interrupt their thread or block it stop neither the consumer nor a later pass. */
@Timeout(60)
class BlockedSampleTest extends StalledWorkersCheck {
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aSampleMayInterruptItsThread(int workers) {
    try (DataLoader loader = loader(workers, sample -> Thread.currentThread().interrupt()).build();
        Batches batches = loader.epoch(0)) {
      for (int first = 0; first < SIZE; first += 3) {
        Rows.assertHolds(batches.next(), first, first + 1, first + 2);
      }
      // Without workers the sample runs in the consumer's thread, so the interrupt is ambiguous.
      assertThat(Thread.interrupted()).isEqualTo(workers == 0);
    }
  }

  @Test
  void anInterruptedConsumerStillTakesAReadyBatch() throws Exception {
    try (DataLoader loader = loader(1, sample -> {}).build();
        Batches batches = loader.epoch(0)) {
      while (loader.stats().working().isZero()) {
        Thread.sleep(1);
      }
      Thread.sleep(50);
      Thread.currentThread().interrupt();
      Rows.assertHolds(batches.next(), 0, 1, 2);
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void aTimeoutReportsABlockedSampleAndTheCallMayBeRepeated() {
    CountDownLatch go = new CountDownLatch(1);
    try (DataLoader loader =
            loader(2, sample -> go.await()).timeout(Duration.ofMillis(200)).build();
        Batches batches = loader.epoch(4)) {
      Rows.assertHolds(batches.next(), 0, 1, 2);
      for (int i = 0; i < 3; i++) {
        assertThatExceptionOfType(LoaderTimeoutException.class)
            .isThrownBy(batches::next)
            .withMessageContaining("batch 1 of epoch 4 was not ready within PT0.2S")
            .withMessageContaining("has been reading sample 5 of batch 1 for")
            .withMessageContaining("BlockedSampleTest")
            .satisfies(
                e -> {
                  assertThat(List.of(e.batch(), e.epoch())).containsExactly(1L, 4L);
                  assertThat(e.waited()).isEqualTo(Duration.ofMillis(200));
                });
      }
      assertThat(batches.position()).isEqualTo(1);
      go.countDown();
      Rows.assertHolds(batches.next(), 3, 4, 5);
      Rows.assertHolds(batches.next(), 6, 7, 8);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void aPassWithABlockedSampleCanBeAbandonedAndTheNextOneRuns(int workers) throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    Deed first =
        sample -> {
          if (calls.incrementAndGet() == 1) {
            blocked.countDown();
            new CountDownLatch(1).await(); // until it is interrupted
          }
        };
    try (DataLoader loader = loader(workers, first).build()) {
      try (Batches batches = loader.epoch(0)) {
        batches.next();
        blocked.await();
      }
      try (Batches batches = loader.epoch(1)) {
        for (int row = 0; row < SIZE; row += 3) {
          Rows.assertHolds(batches.next(), row, row + 1, row + 2);
        }
      }
    }
  }

  @Test
  void uninterruptibleWorkersAreAbandonedAndReplaced() throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    Deed deaf =
        sample -> {
          if (calls.incrementAndGet() == 1) {
            blocked.countDown();
            awaitUninterruptibly(go);
          }
        };
    try (DataLoader loader = loader(1, deaf).build()) {
      try (Batches batches = loader.epoch(0)) {
        batches.next();
        blocked.await();
      }
      try (Batches batches = loader.epoch(1)) {
        batches.next();
        Rows.assertHolds(batches.next(), 3, 4, 5);
      }
    } finally {
      go.countDown(); // it writes into its slab, which has been abandoned to it
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    while (latch.getCount() > 0) {
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void closingEndsABlockedSampleWithinASecondOrAbandonsIt(int workers) throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    Deed sleepy =
        sample -> {
          blocked.countDown();
          new CountDownLatch(1).await(); // until it is interrupted
        };
    DataLoader loader = loader(workers, sleepy).build();
    AtomicReference<Throwable> end = new AtomicReference<>();
    Thread consumer =
        new Thread(
            () -> {
              try (Batches batches = loader.epoch(0)) {
                batches.next();
                batches.next();
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
}
