// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.internal.RankVariables;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A launch whose ranks come and go. One thread takes the exits of processes and the events of the
 * coordinator one after the other, and decides who is replaced and when the launch ends.
 */
final class ElasticLaunch {
  private static final String LOOPBACK = "127.0.0.1";

  /** The interval of looking for unreported changes: stopped processes, and restarts allowed. */
  private static final long LOOK_MILLIS = 200;

  /** The variables of torchrun that a process would take for its place. */
  private static final List<String> FIXED_PLACE =
      List.of("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");

  private final LaunchSettings settings;
  private final ElasticSettings elastic;
  private final String job = UUID.randomUUID().toString();
  private final BlockingQueue<Object> inbox = new LinkedBlockingQueue<>();
  private final List<ElasticProcess> processes = new ArrayList<>();
  private final Deque<ElasticProcess> toReplace = new ArrayDeque<>();
  private final RestartBudget budget;
  private final List<String> left = new ArrayList<>();
  private int generation;
  private boolean isFinished;
  private @Nullable String jobFailure;
  private @Nullable ProcessFailure failureOfFinisher;

  ElasticLaunch(LaunchSettings settings, ElasticSettings elastic) {
    this.settings = settings;
    this.elastic = elastic;
    this.budget = new RestartBudget(elastic.budget(), elastic.per());
  }

  void run() throws InterruptedException {
    try (LossNotes notes = LossNotes.create();
        Coordinator coordinator =
            Coordinator.listen(LOOPBACK, 0, job, elastic.ranks(), inbox::add);
        RankProcesses all = new RankProcesses(settings.grace(), inbox::add)) {
      Starter starter = new Starter(all, notes, LOOPBACK, coordinator.port());
      for (int number = 0; number < settings.processes(); number++) {
        processes.add(starter.start(number, 1));
      }
      while (!isOver()) {
        receive(inbox.poll(LOOK_MILLIS, TimeUnit.MILLISECONDS));
        if (!all.isEnding()) { // else the hook ends the processes, and this JVM ends
          long now = System.nanoTime();
          processes.forEach(each -> each.look(now, settings.grace()));
          receive(inbox.poll()); // events that came before their exit
          settle(all, now);
          replace(starter);
          requireEnough();
        }
      }
    } catch (IOException e) {
      throw LaunchException.processNotStarted("", e);
    }
    if (failureOfFinisher != null) {
      throw LaunchException.ended(
          "the training is complete, but a rank failed after it", failureOfFinisher);
    }
  }

  private boolean isOver() {
    return isFinished && processes.isEmpty();
  }

  /** Starts processes. */
  private final class Starter {
    private final RankProcesses all;
    private final LossNotes notes;
    private final String host;
    private final int port;

    Starter(RankProcesses all, LossNotes notes, String host, int port) {
      this.all = all;
      this.notes = notes;
      this.host = host;
      this.port = port;
    }

    ElasticProcess start(int number, int start) {
      String name = "p" + number + "." + start;
      return new ElasticProcess(
          number,
          start,
          all.start(onOutputFailure -> start(name, number, notes.of(name), onOutputFailure)));
    }

    private RankProcess start(
        String name, int number, Path lossNote, Consumer<RankProcess> onOutputFailure) {
      ProcessBuilder builder = JvmCommand.of(settings, job, lossNote);
      Map<String, String> variables = builder.environment();
      FIXED_PLACE.forEach(variables::remove);
      variables.put("LOCAL_RANK", Integer.toString(number));
      variables.put(RankVariables.COORDINATOR_HOST, host);
      variables.put(RankVariables.COORDINATOR_PORT, Integer.toString(port));
      variables.put(RankVariables.PROCESS, name);
      try {
        return RankProcess.named(name, number, builder.start(), lossNote, onOutputFailure);
      } catch (IOException e) {
        throw LaunchException.processNotStarted(name, e);
      }
    }
  }

  /** Takes all that was reported, from the first report on. */
  private void receive(@Nullable Object first) {
    for (Object next = first; next != null; next = inbox.poll()) {
      if (next instanceof CoordinatorEvent event) {
        take(event);
        elastic.events().accept(event);
      } else if (next instanceof RankProcess process) {
        @Nullable Throwable outputFailure = process.outputFailure();
        if (outputFailure != null) {
          throw LaunchException.outputLost(process.name(), outputFailure);
        }
      }
    }
  }

  private void take(CoordinatorEvent event) {
    generation = event.generation();
    switch (event.kind()) {
      case CONNECTED -> named(event).forEach(each -> each.isConnected = true);
      case FORMED -> formed(event);
      case LOST -> named(event).forEach(ElasticProcess::lost);
      case LEFT -> named(event).forEach(each -> each.hasLeft = true);
      case FINISHED -> {
        isFinished = true;
        named(event).forEach(each -> each.isFinisher = true);
      }
      case FAILED -> jobFailure = event.text();
      default -> {}
    }
  }

  private List<ElasticProcess> named(CoordinatorEvent event) {
    return processes.stream().filter(each -> event.processes().contains(each.name())).toList();
  }

  private void formed(CoordinatorEvent event) {
    for (ElasticProcess each : processes) {
      int rank = event.processes().indexOf(each.name());
      if (rank >= 0) {
        each.rank = rank;
        each.generation = event.generation();
      }
    }
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
        } else if (!isFinished) {
          budget.failed(each.failure(now));
          toReplace.add(each);
        } else if (each.isFinisher && failureOfFinisher == null) {
          failureOfFinisher = each.failure(now);
        }
      }
    }
  }

  private void replace(Starter starter) {
    while (!isFinished && !toReplace.isEmpty() && budget.take(System.nanoTime())) {
      ElasticProcess lost = toReplace.remove();
      processes.add(starter.start(lost.number, lost.start + 1));
    }
  }

  /** Throws if the job has failed, or must fail since too few processes are left. */
  private void requireEnough() {
    int min = elastic.ranks().minRanks();
    if (jobFailure != null) {
      throw failed("the job has failed: " + jobFailure);
    }
    if (!isFinished && processes.size() < min) {
      throw failed(
          "the job has failed: %d of at least %d processes are there; %s"
              .formatted(processes.size(), min, toReplace.isEmpty() ? whoLeft() : shortage()));
    }
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
        .first()
        .map(first -> LaunchException.ended(reason, first))
        .orElseGet(() -> LaunchException.incomplete(reason, generation));
  }
}
