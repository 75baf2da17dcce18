// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the exceptions of waits in a group when the coordinator notices that a rank is lost. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrokenGenerationTest {
  private static final Duration LONG = Duration.ofMinutes(10);

  static List<Consumer<ProcessGroup>> waits() {
    return List.of(
        group -> group.store().get("a key", LONG),
        group -> group.store().await(List.of("a key"), LONG),
        group -> group.monitoredBarrier(LONG));
  }

  @ParameterizedTest
  @MethodSource("waits")
  void aLostRankEndsTheWaitsForAnother(Consumer<ProcessGroup> wait) throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    CountDownLatch joined = new CountDownLatch(3);
    List<Future<?>> ranks = new ArrayList<>();
    try (ElasticThreads job = new ElasticThreads(3, 3)) {
      for (int i = 0; i < 3; i++) {
        ranks.add(
            threads.submit(
                () -> {
                  rank(job.coordinator.port(), joined, wait);
                  return null;
                }));
      }
      for (Future<?> each : ranks) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void rank(int port, CountDownLatch joined, Consumer<ProcessGroup> wait)
      throws Exception {
    try (Membership membership = Membership.join("127.0.0.1", port);
        ElasticGroup ranks =
            ElasticGroup.next(membership, GroupOptions.ofTimeout(LONG), "").orElseThrow()) {
      joined.countDown();
      joined.await();
      if (ranks.group().rank() == 2) {
        membership.fail("a fault of the program");
        return;
      }
      Throwable failure = catchThrowable(() -> wait.accept(ranks.group()));
      assertThat(failure).isInstanceOf(PeerLostException.class);
      assertThat(ranks.isBrokenBy((PeerLostException) failure)).isTrue();
    }
  }
}
