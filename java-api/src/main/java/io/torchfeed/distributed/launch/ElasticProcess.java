// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.time.Duration;
import java.util.OptionalLong;

/** A started process of an elastic launch, as its launcher knows it. Not thread-safe. */
final class ElasticProcess {
  /** The time in which the coordinator's word on a process that has exited arrives. */
  private static final Duration WORD = Duration.ofSeconds(1);

  final int number;
  final int start;
  final RankProcess running;
  int rank = -1;
  int generation;
  boolean isConnected;
  boolean hasLeft;
  boolean isFinisher;
  private boolean isLost;
  private OptionalLong exitedAt = OptionalLong.empty();
  private OptionalLong hangingSince = OptionalLong.empty();

  ElasticProcess(int number, int start, RankProcess running) {
    this.number = number;
    this.start = start;
    this.running = running;
  }

  String name() {
    return running.name();
  }

  /** The coordinator has lost it. */
  void lost() {
    isLost = true;
  }

  /**
   * Looks whether the process has exited, and kills it if it has been stopped, or lost by the
   * coordinator, for the grace period.
   */
  void look(long now, Duration grace) {
    if (!running.process().isAlive()) {
      exitedAt = exitedAt.isEmpty() ? OptionalLong.of(now) : exitedAt;
    } else if (!isLost && !StoppedProcesses.isStopped(running.process().pid())) {
      hangingSince = OptionalLong.empty();
    } else if (hangingSince.isEmpty()) {
      hangingSince = OptionalLong.of(now);
    } else if (now - hangingSince.getAsLong() > grace.toNanos()) {
      running.process().destroyForcibly();
    }
  }

  /**
   * Returns whether the last look has found that it has exited, and the coordinator has said why,
   * or had the time to.
   */
  boolean hasEnded(long now) {
    return exitedAt.isPresent()
        && (!running.hasFailed()
            || !isConnected
            || isLost
            || hasLeft
            || isFinisher
            || now - exitedAt.getAsLong() > WORD.toNanos());
  }

  ProcessFailure failure(long now) throws InterruptedException {
    return new ProcessFailure(
        name(),
        rank,
        generation,
        running.process().exitValue(),
        running.errorTail(),
        running.hasLostPeer(),
        now);
  }
}
