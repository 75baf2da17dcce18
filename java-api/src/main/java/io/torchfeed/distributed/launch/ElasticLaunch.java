// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.internal.AwakeClock;
import io.torchfeed.internal.Failures;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * An elastic launch. One thread takes the exits of processes and the events of the coordinator one
 * after the other, and decides who is replaced and when the launch ends.
 */
final class ElasticLaunch {
  /** The interval of looking for unreported changes: stopped processes, and restarts allowed. */
  private static final long LOOK_MILLIS = 200;

  /** The part of a longer interval that counts: this launcher was stopped meanwhile, or its job. */
  private static final long COUNTED_NANOS = 1_000_000_000;

  /** The time that other launchers have to replace their processes, if too few are left. */
  private static final Duration OTHERS = Duration.ofSeconds(30);

  private static final String LAUNCHER = "launcher";

  /** The launches of this JVM so far that shared a job with other launchers. */
  private static final AtomicInteger SHARED = new AtomicInteger();

  private final LaunchSettings settings;
  private final ElasticSettings elastic;
  private final BlockingQueue<Object> inbox = new LinkedBlockingQueue<>();
  private final AwakeClock clock = new AwakeClock(COUNTED_NANOS, System::nanoTime);
  private final List<ElasticProcess> processes = new ArrayList<>();
  private final Deque<ElasticProcess> toReplace = new ArrayDeque<>();
  private final RestartBudget budget;
  private final List<String> left = new ArrayList<>();

  /** The processes of other launchers of the job, and these launchers themselves. */
  private final Set<String> others = new HashSet<>();

  private OptionalLong shortSince = OptionalLong.empty();
  private final String machine;
  private final LogFolder logs;
  private final RankOutput log;
  private int generation;
  private boolean isFinished;
  private OptionalLong endedElsewhere = OptionalLong.empty();
  private @Nullable String jobFailure;
  private ElasticProcess.@Nullable Failure failureOfFinisher;

  ElasticLaunch(LaunchSettings settings, ElasticSettings elastic) {
    this.settings = settings;
    this.elastic = elastic;
    this.budget = new RestartBudget(elastic.budget(), elastic.per());
    this.machine = machine(elastic.place());
    try {
      this.logs = LogFolder.open(settings.logs());
      this.log =
          new RankOutput("the launcher", -1, RankOutput.Shown.NONE, logs.log(machine + LAUNCHER));
    } catch (IOException e) {
      throw LaunchException.notBegun(
          "logs cannot be written to %s: %s".formatted(settings.logs(), Failures.reason(e)), e);
    }
  }

  void run() throws InterruptedException {
    try (LossNotes notes = LossNotes.create();
        JobView job = JobView.open(elastic, machine + LAUNCHER, inbox::add);
        RankProcesses all = new RankProcesses(settings.grace(), inbox::add);
        SignalForwarding signals = SignalForwarding.start(settings.forwarded(), all)) {
      all.atShutdown(notes::close);
      ElasticStarter starter =
          new ElasticStarter(settings, all, notes, logs, elastic, job.port(), machine);
      for (int number = 0; number < settings.processes(); number++) {
        processes.add(starter.start(number, 1));
      }
      while (!isOver()) {
        receive(inbox.poll(LOOK_MILLIS, TimeUnit.MILLISECONDS));
        if (!all.isEnding()) { // else the hook ends the processes, and this JVM ends
          long now = clock.now();
          processes.forEach(each -> look(each, now));
          receive(inbox.poll()); // events that came before their exit
          settle(all, now);
          replace(starter);
          requireEnough(now);
        }
      }
    } catch (IOException e) {
      throw LaunchException.processNotStarted(machine + "p0.1", e);
    } finally {
      log.close();
    }
    if (failureOfFinisher != null) {
      throw LaunchException.ended(
          "the training is complete, but a rank failed after it", failureOfFinisher);
    }
  }

  private void look(ElasticProcess process, long now) {
    process.look(now, settings.grace());
    if (endedElsewhere.isPresent()) {
      process.endAfter(endedElsewhere.getAsLong(), now, settings.grace());
    }
  }

  /** Returns the prefix of the names of this machine's processes; empty if there is no other. */
  private static String machine(ElasticSettings.Place place) {
    if (place.kind() == ElasticSettings.Place.Kind.ALONE) {
      return "";
    }
    int number = SHARED.incrementAndGet(); // two of them may run ranks of one job
    String process = ProcessHandle.current().pid() + (number == 1 ? "" : "-" + number);
    try {
      return InetAddress.getLocalHost().getHostName() + "-" + process + "-";
    } catch (UnknownHostException e) {
      return "unknown-" + process + "-";
    }
  }

  private boolean isOver() {
    boolean haveAllLeft =
        elastic.place().kind() == ElasticSettings.Place.Kind.ELSEWHERE && toReplace.isEmpty();
    return processes.isEmpty() && (isFinished || (haveAllLeft && jobFailure == null));
  }

  /** Takes all that was reported, from the first report on. */
  private void receive(@Nullable Object first) {
    for (Object next = first; next != null; next = inbox.poll()) {
      if (next instanceof CoordinatorEvent event) {
        take(event);
        log.line(Instant.now() + " " + event, false);
        elastic.events().accept(event);
      } else if (next instanceof JobView.End end) {
        take(end);
      } else if (next instanceof RankProcess process) {
        @Nullable Throwable outputFailure = process.outputFailure();
        if (outputFailure != null) {
          throw LaunchException.outputLost(process.name(), outputFailure);
        }
      }
    }
  }

  private void take(JobView.End end) {
    if (end.failure().isEmpty()) {
      isFinished = true;
      endedElsewhere = OptionalLong.of(clock.now());
    } else {
      jobFailure = end.failure();
    }
  }

  private void take(CoordinatorEvent event) {
    generation = event.generation();
    switch (event.kind()) {
      case CONNECTED -> {
        named(event).forEach(ElasticProcess::connected);
        noteOthers(event);
      }
      case FORMED -> {
        processes.forEach(each -> each.formed(event));
        noteOthers(event); // of the time before this launcher has joined
      }
      case LOST -> {
        named(event).forEach(ElasticProcess::lost);
        event.processes().forEach(others::remove);
      }
      case LEFT -> {
        named(event).forEach(each -> each.hasLeft = true);
        event.processes().forEach(others::remove);
      }
      case FINISHED -> {
        isFinished = true;
        named(event).forEach(each -> each.isFinisher = true);
      }
      case FAILED -> jobFailure = event.text();
      default -> {}
    }
  }

  private void noteOthers(CoordinatorEvent event) {
    event.processes().stream()
        .filter(each -> !each.startsWith(machine + ElasticStarter.PROCESS))
        .forEach(others::add);
  }

  private List<ElasticProcess> named(CoordinatorEvent event) {
    return processes.stream().filter(each -> event.processes().contains(each.name())).toList();
  }

  /** Decides which of the processes that have ended are replaced. */
  private void settle(RankProcesses all, long now) throws InterruptedException {
    for (ElasticProcess each : List.copyOf(processes)) {
      if (each.hasEnded(now)) {
        processes.remove(each);
        all.remove(each.running);
        boolean hasFailed = each.running.hasFailed() && !each.hasLeft;
        if (!hasFailed) {
          each.running.errorTail(); // so that its last lines are printed before the launch ends
          left.add(each.name());
        } else if (each.hasFinished()) {
          failureOfFinisher = failureOfFinisher == null ? each.failure(now) : failureOfFinisher;
        } else if (!isFinished) {
          budget.failed(each.failure(now));
          toReplace.add(each);
        }
      }
    }
  }

  private void replace(ElasticStarter starter) {
    while (!isFinished && !toReplace.isEmpty() && budget.take(clock.now())) {
      ElasticProcess lost = toReplace.remove();
      processes.add(starter.start(lost.number, lost.start + 1));
    }
  }

  /** Throws if the job has failed, or must fail since too few processes are left. */
  private void requireEnough(long now) {
    if (jobFailure != null) {
      throw failed("the job has failed: " + jobFailure);
    }
    long there = processes.size() + others.stream().filter(each -> !isLauncher(each)).count();
    int min = elastic.ranks().minRanks();
    if (isFinished || (there >= min && !isUseless()) || !mustDecide()) {
      shortSince = OptionalLong.empty();
    } else if (shortSince.isEmpty()) {
      shortSince = OptionalLong.of(now);
    }
    if (shortSince.isPresent() && now - shortSince.getAsLong() >= patience()) {
      throw failed(
          "the job has failed: %d of at least %d processes are left; %s"
              .formatted(there, min, toReplace.isEmpty() ? whoLeft() : shortage()));
    }
  }

  /**
   * Returns whether this launch ends a job that has too few processes. One that others may join
   * does so only when it may not replace its own: else the coordinator decides.
   */
  private boolean mustDecide() {
    return elastic.place().kind() == ElasticSettings.Place.Kind.ALONE || !toReplace.isEmpty();
  }

  /** Returns whether this launcher has no process and no coordinator that others need. */
  private boolean isUseless() {
    return elastic.place().kind() == ElasticSettings.Place.Kind.ELSEWHERE && processes.isEmpty();
  }

  /** Returns the nanoseconds that other launchers have to replace their processes. */
  private long patience() {
    boolean haveOthers =
        elastic.place().kind() == ElasticSettings.Place.Kind.ELSEWHERE
            || others.stream().anyMatch(ElasticLaunch::isLauncher);
    return haveOthers && !isUseless() ? Math.min(OTHERS.toNanos(), elastic.per().toNanos() / 2) : 0;
  }

  private static boolean isLauncher(String process) {
    return process.endsWith("-" + LAUNCHER);
  }

  private String whoLeft() {
    String hint = generation == 0 ? "; none of them has called Membership.fromEnvironment" : "";
    return "left before the training was complete: " + left + hint;
  }

  private String shortage() {
    return budget + (left.isEmpty() ? "" : ", and some have left: " + left);
  }

  private LaunchException failed(String reason) {
    return budget
        .first(clock.now())
        .map(first -> LaunchException.ended(reason, first))
        .orElseGet(() -> LaunchException.incomplete(reason, generation));
  }
}
