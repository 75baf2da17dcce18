// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/** A started process of an elastic launch, as its launcher knows it. Not thread-safe. */
final class ElasticProcess {
  /**
   * The failure of a process.
   *
   * @param rank in the generation; -1 if it was in none
   * @param generation the last in which it was; 0 if it was in none
   * @param hasLostPeer whether it failed because another one was lost
   * @param nanos when it was noticed, by the clock of the launch
   * @param time when it was noticed
   */
  record Failure(
      String process,
      int rank,
      int generation,
      int exitCode,
      String errorTail,
      Optional<String> errorFile,
      boolean hasLostPeer,
      long nanos,
      Instant time) {}

  /** The time in which the coordinator's word on a process that has exited arrives. */
  private static final Duration WORD = Duration.ofSeconds(1);

  final int number;
  final int start;
  final RankProcess running;
  private final RankOutput output;
  int rank = -1;
  int generation;
  private boolean isConnected;
  boolean hasLeft;
  boolean isFinisher;
  private boolean isLost;
  private OptionalLong exitedAt = OptionalLong.empty();
  private OptionalLong hangingSince = OptionalLong.empty();
  private boolean isAskedToEnd;

  ElasticProcess(int number, int start, RankProcess running, RankOutput output) {
    this.output = output;
    this.number = number;
    this.start = start;
    this.running = running;
  }

  String name() {
    return running.name();
  }

  /** Takes its place in a generation, if it has one. */
  void formed(CoordinatorEvent event) {
    int place = event.processes().indexOf(name());
    if (place >= 0) {
      rank = place;
      generation = event.generation();
      output.formed(rank, generation, event.processes().size());
    }
  }

  /** It has connected, perhaps again, after the coordinator had lost it. */
  void connected() {
    isConnected = true;
    isLost = false;
    hasLeft = false;
  }

  /** Returns whether it has taken part in the training until that was complete. */
  boolean hasFinished() {
    return isFinisher || running.hasFinished();
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
    } else if (!isLost && !isStopped(running.process().pid())) {
      hangingSince = OptionalLong.empty();
    } else if (hangingSince.isEmpty()) {
      hangingSince = OptionalLong.of(now);
    } else if (now - hangingSince.getAsLong() > grace.toNanos()) {
      running.kill();
    }
  }

  /**
   * Ends the process, which may hang, if it does not know of the completed training when that is
   * older than the grace period: first by asking, then by killing it.
   *
   * @param ended when the training was completed
   */
  void endAfter(long ended, long now, Duration grace) {
    long graces = (now - ended) / Math.max(1, grace.toNanos());
    if (graces < 1 || hasFinished() || !running.process().isAlive()) {
      return;
    }
    if (graces > 1) {
      running.kill();
    } else if (!isAskedToEnd) {
      isAskedToEnd = true;
      running.terminate();
    }
  }

  /**
   * Returns whether a signal such as SIGSTOP has stopped a process, which may never continue; false
   * where the system has no {@code /proc}.
   */
  private static boolean isStopped(long pid) {
    try {
      byte[] bytes = Files.readAllBytes(Path.of("/proc", Long.toString(pid), "stat"));
      String line = new String(bytes, StandardCharsets.ISO_8859_1);
      int name = line.lastIndexOf(')'); // the name may contain anything
      return line.startsWith("T", name + 2);
    } catch (IOException e) {
      return false; // it has exited, or this is no Linux
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

  Failure failure(long now) throws InterruptedException {
    Instant time = Instant.now(); // the end of its output is waited for
    return new Failure(
        name(),
        rank,
        generation,
        running.process().exitValue(),
        running.errorTail(),
        running.errorFile(),
        running.hasLostPeer(),
        now,
        time);
  }
}
