// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/** The restarts that are left, and the failures that have used them up. */
final class RestartBudget {
  private final int budget;
  private final Duration per;
  private final Deque<Long> restarts = new ArrayDeque<>();
  private final Deque<ElasticProcess.Failure> failures = new ArrayDeque<>();

  RestartBudget(int budget, Duration per) {
    this.budget = budget;
    this.per = per;
  }

  void failed(ElasticProcess.Failure failure) {
    prune(failure.nanos()); // a job that continues for long must not collect them
    failures.add(failure);
  }

  private void prune(long nanos) {
    failures.removeIf(each -> nanos - each.nanos() > per.toNanos());
  }

  /** Takes one restart, unless as many as allowed were within the last interval. */
  boolean take(long nanos) {
    restarts.removeIf(each -> nanos - each > per.toNanos());
    if (restarts.size() >= budget) {
      return false;
    }
    restarts.add(nanos);
    return true;
  }

  /**
   * Returns the failure that caused the others: within the last interval, the first that was not
   * caused by the loss of a peer. An older one has been survived.
   */
  Optional<ElasticProcess.Failure> first(long nanos) {
    prune(nanos);
    List<ElasticProcess.Failure> recent = new ArrayList<>(failures);
    recent.sort(Comparator.comparing(ElasticProcess.Failure::hasLostPeer)); // stable
    return recent.stream().findFirst();
  }

  @Override
  public String toString() {
    return budget == 0
        ? "no restarts are allowed"
        : "all " + budget + " restarts within " + per + " are used up";
  }
}
