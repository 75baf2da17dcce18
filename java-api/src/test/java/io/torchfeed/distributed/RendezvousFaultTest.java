// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.internal.ReservedPort;
import io.torchfeed.testing.ThreadStop;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests in which the rendezvous thread is killed by an error while it waits for the others. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@DisabledForJreRange(min = JRE.JAVA_20, disabledReason = "Thread.stop does nothing there")
class RendezvousFaultTest {
  private static ProcessGroup join(int rank, ReservedPort port) {
    return ProcessGroup.join(
        Map.of(
            "RANK",
            Integer.toString(rank),
            "WORLD_SIZE",
            "2",
            "MASTER_ADDR",
            "127.0.0.1",
            "MASTER_PORT",
            Integer.toString(port.number())),
        GroupOptions.ofTimeout(Duration.ofMinutes(10)));
  }

  /** Rank 0 waits for rank 1 in the store, rank 1 for the master's port. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void stoppingTheThreadFailsTheCallerAndTheNextRendezvousWorks(int rank) throws Exception {
    ExecutorService other = Executors.newFixedThreadPool(2);
    try (ReservedPort port = ReservedPort.open()) {
      Future<ProcessGroup> alone = other.submit(() -> join(rank, port));
      ThreadStop.waiting("torchfeed-rendezvous");
      assertThatIllegalStateException()
          .isThrownBy(() -> result(alone))
          .withMessageContaining("torchfeed-rendezvous failed with java.lang.ThreadDeath")
          .withCauseInstanceOf(ThreadDeath.class);
      Future<ProcessGroup> first = other.submit(() -> join(0, port));
      try (ProcessGroup second = join(1, port);
          ProcessGroup joined = first.get()) {
        assertThat(joined.size()).isEqualTo(second.size());
      }
    } finally {
      other.shutdownNow();
    }
  }

  private static ProcessGroup result(Future<ProcessGroup> future) throws Exception {
    try {
      return future.get();
    } catch (ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }
}
