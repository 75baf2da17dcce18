// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RestartBudgetTest {
  private final RestartBudget budget = new RestartBudget(1, Duration.ofSeconds(1));

  private static ElasticProcess.Failure failure(String process, boolean hasLostPeer, long millis) {
    return new ElasticProcess.Failure(
        process, -1, 0, 1, "", Optional.empty(), hasLostPeer, millis * 1_000_000, Instant.EPOCH);
  }

  private Optional<String> first(long millis) {
    return budget.first(millis * 1_000_000).map(ElasticProcess.Failure::process);
  }

  @Test
  void theFirstFailureIsNotOneThatFollowedFromAnother() {
    budget.failed(failure("p0.1", true, 0));
    budget.failed(failure("p1.1", false, 10));
    budget.failed(failure("p2.1", false, 20));
    assertThat(first(30)).contains("p1.1");
  }

  @Test
  void aFailureThatWasSurvivedIsNotTheFirst() {
    budget.failed(failure("p0.1", false, 0));
    assertThat(first(1000)).contains("p0.1");
    assertThat(first(1001)).isEmpty();
  }

  @Test
  void aRestartIsAllowedAgainAfterTheInterval() {
    assertThat(budget.take(0)).isTrue();
    assertThat(budget.take(1_000_000_000)).isFalse();
    assertThat(budget.take(1_000_000_001)).isTrue();
  }
}
