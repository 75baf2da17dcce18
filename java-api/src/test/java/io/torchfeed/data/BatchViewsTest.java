// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of passes as a Java stream and as a publisher. */
@Timeout(60)
class BatchViewsTest {
  private final DataLoader loader =
      DataLoader.over(new RowData.Samples(10)).batchSize(3).workers(2).build();

  @AfterEach
  void close() throws InterruptedException {
    loader.close();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("torchfeed-publisher")) {
        thread.join();
      }
    }
  }

  @Test
  void aStreamDeliversTheRemainingBatchesAndClosesThePass() {
    Batches batches = loader.epoch(0);
    batches.next();
    try (Stream<Batch> stream = batches.stream()) {
      assertThat(stream.mapToLong(Batch::size).sum()).isEqualTo(7);
    }
    assertThatIllegalStateException().isThrownBy(batches::next);
  }

  @Test
  void subscribersReceiveWhatTheyRequest() throws Exception {
    BatchTaker all = new BatchTaker(1, Long.MAX_VALUE, true);
    BatchTaker oneByOne = new BatchTaker(1, 1, true);
    BatchTaker two = new BatchTaker(1, 2, false);
    for (BatchTaker taker : List.of(all, oneByOne, two)) {
      loader.publisher(0).subscribe(taker);
    }
    assertThat(all.end.get(30, TimeUnit.SECONDS)).isEqualTo("complete");
    assertThat(oneByOne.end.get(30, TimeUnit.SECONDS)).isEqualTo("complete");
    assertThat(all.seen).containsExactly(0L, 3L, 6L, 9L);
    assertThat(oneByOne.seen).containsExactly(0L, 3L, 6L, 9L);
    assertThat(two.end).isNotDone();
    two.subscription.get().request(2);
    assertThat(two.end.get(30, TimeUnit.SECONDS)).isEqualTo("complete");
    assertThat(two.seen).containsExactly(0L, 3L, 6L, 9L);
  }

  @Test
  void aSubscriptionEndsWhenCancelledOrFailed() throws Exception {
    BatchTaker cancelled = new BatchTaker(1, 1, false);
    loader.publisher(0).subscribe(cancelled);
    cancelled.subscription.get(30, TimeUnit.SECONDS).cancel();
    BatchTaker wrong = new BatchTaker(1, 0, false);
    loader.publisher(0).subscribe(wrong);
    assertThat(wrong.end.get(30, TimeUnit.SECONDS)).contains("at least 1 batch, got 0");
    BatchTaker none = new BatchTaker(1, 1, false);
    loader.publisher(-1).subscribe(none);
    assertThat(none.end.get(30, TimeUnit.SECONDS)).contains("epoch");
    BatchTaker waiting = new BatchTaker(1, 1, false);
    loader.publisher(0).subscribe(waiting);
    assertThat(waiting.first.await(30, TimeUnit.SECONDS)).isTrue();
    loader.close();
    assertThat(waiting.end.get(30, TimeUnit.SECONDS)).contains("closed");
    assertThat(cancelled.end).isNotDone();
  }
}
