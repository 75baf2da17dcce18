// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that simulated ranks go through the same events as ranks that train. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SimulatedRanksTest {
  private static final int RANKS = 300;
  private static final int LOST = 100;

  private final Queue<CoordinatorEvent> events = new ConcurrentLinkedQueue<>();

  @Test
  void ranksComeAreLostComeAgainAndEndTogether() throws Exception {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, RANKS)
            .withSilence(Duration.ofSeconds(30))
            .withStart(Duration.ofMinutes(2));
    try (Coordinator coordinator =
            Coordinator.listen("127.0.0.1", 0, options.withJob("job").withEvents(events::add));
        SimulatedRanks ranks = new SimulatedRanks(coordinator.port(), "job")) {
      ranks.add(RANKS);
      ranks.awaitGeneration(RANKS);
      ranks.lose(LOST);
      ranks.awaitGeneration(RANKS - LOST);
      ranks.add(1);
      ranks.awaitGeneration(RANKS - LOST + 1);
      ranks.finish();
      coordinator.await();
    }
    assertThat(count(Kind.CONNECTED)).isEqualTo(RANKS + 1);
    assertThat(count(Kind.LOST)).isEqualTo(LOST);
    assertThat(count(Kind.PAUSED)).isEqualTo(1);
    assertThat(count(Kind.FINISHED)).isEqualTo(1);
    assertThat(count(Kind.REFUSED)).isZero();
    assertThat(last(Kind.FORMED).processes())
        .hasSize(RANKS - LOST + 1)
        .doesNotContain("r0")
        .last()
        .isEqualTo("r" + RANKS); // it holds no state, so it is the last
  }

  private long count(Kind kind) {
    return events.stream().filter(event -> event.kind() == kind).count();
  }

  private CoordinatorEvent last(Kind kind) {
    return events.stream()
        .filter(event -> event.kind() == kind)
        .reduce((first, second) -> second)
        .orElseThrow();
  }
}
