// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of passes over streams as a Java stream and as a publisher. */
@Timeout(60)
class StreamViewsTest {
  private static DataLoader over(Counters data) {
    return DataLoader.over(data).batchSize(2).workers(1).build();
  }

  @Test
  void aStreamDeliversTheBatches() {
    try (DataLoader loader = over(Counters.of(5, 3));
        Stream<Batch> stream = loader.epoch(0).stream()) {
      assertThat(stream.mapToLong(Batch::size).sum()).isEqualTo(8);
    }
  }

  @Test
  void subscribersReceiveWhatTheyRequest() throws Exception {
    try (DataLoader loader = over(Counters.of(5, 3))) {
      BatchTaker all = new BatchTaker(0, Long.MAX_VALUE, true);
      BatchTaker two = new BatchTaker(0, 2, false);
      loader.publisher(0).subscribe(all);
      loader.publisher(0).subscribe(two);
      assertThat(all.end.get(30, TimeUnit.SECONDS)).isEqualTo("complete");
      assertThat(all.seen).containsExactly(0L, 1000L, 2L, 1002L, 4L);
      assertThat(two.end).isNotDone();
      two.subscription.get().request(3);
      assertThat(two.end.get(30, TimeUnit.SECONDS)).isEqualTo("complete");
      assertThat(two.seen).isEqualTo(all.seen);
    }
  }

  /** Finding out whether there is another sample may take long. */
  @Test
  void aSubscriptionMayBeCancelledWhileWaitingForASample() throws Exception {
    CountDownLatch waiting = new CountDownLatch(1);
    Counters data =
        Counters.with(
            (value, place) -> {
              if (value == 2) {
                waiting.countDown();
                new CountDownLatch(1).await(); // until it is interrupted
              }
            },
            5);
    try (DataLoader loader = over(data)) {
      BatchTaker taker = new BatchTaker(0, 2, false);
      loader.publisher(0).subscribe(taker);
      waiting.await();
      taker.subscription.get().cancel();
      assertThat(taker.end).isNotDone();
    }
    assertThat(data.open()).hasValue(0);
  }

  @Test
  void aSubscriptionEndsWithItsLoader() throws Exception {
    DataLoader loader = over(Counters.of(5));
    BatchTaker taker = new BatchTaker(0, 1, false);
    loader.publisher(0).subscribe(taker);
    assertThat(taker.first.await(30, TimeUnit.SECONDS)).isTrue();
    loader.close();
    assertThat(taker.end.get(30, TimeUnit.SECONDS)).contains("closed");
  }
}
