// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The ranks of one launch, which completes if all do. Closing this object ends them. */
final class RunningRanks implements AutoCloseable {
  /**
   * The time that ranks have to exit on their own after one has failed.
   *
   * @param certain the limit if a rank has failed on its own: the others report the peer they lost
   * @param uncertain the limit if every failed rank lost a peer: the first to fail may still be
   *     closing its group
   */
  record Patience(Duration certain, Duration uncertain) {
    static final Patience DEFAULT = new Patience(Duration.ofSeconds(1), Duration.ofSeconds(3));
  }

  /** The polling interval for ranks whose exit the JVM did not report. */
  private static final long LOOK_NANOS = 500_000_000;

  /** Puts the probable first failure first; a stable sort keeps ties in the order of exit. */
  private static final Comparator<RankProcess> BY_GUILT =
      Comparator.comparing(RankProcess::hasLostPeer)
          .thenComparing(Comparator.comparing(RankProcess::wasKilled).reversed());

  private final Patience patience;
  private final List<RankProcess> ranks = new ArrayList<>();
  private final Set<RankProcess> ended = new LinkedHashSet<>();
  private final BlockingQueue<RankProcess> events = new LinkedBlockingQueue<>();
  private final RankProcesses processes;

  /**
   * Creates an empty set of ranks.
   *
   * @param grace how long ranks have to terminate before they are killed
   */
  RunningRanks(Duration grace, Patience patience) {
    this.patience = patience;
    this.processes = new RankProcesses(grace, events::add);
  }

  /** Sets the last action of a shutdown hook, after the end of the ranks. */
  void atShutdown(Runnable last) {
    processes.atShutdown(last);
  }

  /** Starts to forward signals. */
  SignalForwarding forward(List<String> signals) {
    return SignalForwarding.start(signals, processes);
  }

  /**
   * Starts a rank.
   *
   * @throws IllegalStateException if this JVM is shutting down
   */
  void start(RankProcesses.Start start) {
    ranks.add(processes.start(start));
  }

  /**
   * Waits until all ranks have exited successfully.
   *
   * @throws LaunchException if a rank failed, or its output could not be forwarded
   */
  void await() throws InterruptedException {
    while (ended.size() < ranks.size()) {
      @Nullable RankProcess rank = next(LOOK_NANOS);
      if (rank != null && rank.hasFailed()) {
        Instant time = Instant.now();
        RankProcess cause = causeAmong(rank);
        throw LaunchException.failed(
            cause.rank(), cause.process().exitValue(), cause.errorTail(), cause.errorFile(), time);
      }
      if (rank != null) {
        rank.errorTail(); // so that its last lines are printed before this method returns
      }
    }
  }

  /** Returns the next rank that has exited, or null if none does within the time. */
  private @Nullable RankProcess next(long nanos) throws InterruptedException {
    @Nullable RankProcess event = events.poll(Math.min(nanos, LOOK_NANOS), TimeUnit.NANOSECONDS);
    for (RankProcess rank : event == null ? ranks : List.of(event)) {
      @Nullable Throwable outputFailure = rank.outputFailure();
      if (outputFailure != null) {
        throw LaunchException.outputLost(rank.rank(), outputFailure);
      }
      if (!rank.process().isAlive() && ended.add(rank)) {
        return rank;
      }
    }
    return null;
  }

  /**
   * Returns the rank whose failure caused the others. It need not be the first to exit: after an
   * exception, a rank still has to close its group, and a peer that loses it may exit sooner.
   */
  private RankProcess causeAmong(RankProcess first) throws InterruptedException {
    List<RankProcess> failed = new ArrayList<>(List.of(first));
    long start = System.nanoTime();
    while (ended.size() < ranks.size()) {
      boolean isCertain = failed.stream().anyMatch(rank -> !rank.hasLostPeer());
      Duration settling = isCertain ? patience.certain() : patience.uncertain();
      long left = start + settling.toNanos() - System.nanoTime();
      if (left <= 0) {
        break;
      }
      @Nullable RankProcess next = next(left);
      if (next != null && next.hasFailed()) {
        failed.add(next);
      }
    }
    failed.sort(BY_GUILT);
    return failed.get(0);
  }

  @Override
  public void close() {
    processes.close();
  }
}
