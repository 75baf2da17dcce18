// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A coordinator and its ranks, which write to a folder. {@code close} kills those that still run.
 */
final class Job implements AutoCloseable {
  static final String NAME = "faults";
  static final int LEAST = 2;
  static final int MOST = 4;

  /** The time in which anything that is waited for must come. */
  static final long LIMIT_SECONDS = 60;

  /** Something that has not come in time. */
  static final class HungException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    HungException(String what) {
      super("not within " + LIMIT_SECONDS + " s: " + what);
    }
  }

  /** An event of the coordinator. */
  record Noted(long nanos, CoordinatorEvent event) {}

  private final Path folder;
  private final RankArguments.Training training;
  private final List<String> jvm;
  private final Object monitor = new Object();
  private final Coordinator coordinator;
  private final PrintWriter coordinatorLog;
  private final Thread atExit = new Thread(this::killAll, "kill ranks");

  // Guarded by the monitor.
  private final List<Noted> noted = new ArrayList<>();
  private final List<RankHandle> ranks = new ArrayList<>();

  /**
   * Starts a coordinator.
   *
   * @param folder of all files of the job; created
   * @param jvm the command that starts a rank, up to its arguments
   */
  Job(Path folder, RankArguments.Training training, List<String> jvm) throws IOException {
    this.folder = Files.createDirectories(folder);
    this.training = training;
    this.jvm = jvm;
    coordinatorLog = new PrintWriter(Files.newBufferedWriter(folder.resolve("coordinator.log")));
    coordinator =
        Coordinator.listen(
            "127.0.0.1",
            0,
            NAME,
            CoordinatorOptions.of(LEAST, MOST).withReplacement(Duration.ofMinutes(2)),
            this::note);
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  private void note(CoordinatorEvent event) {
    long now = System.nanoTime();
    synchronized (monitor) {
      noted.add(new Noted(now, event));
      coordinatorLog.println(now + " " + event.kind() + " " + event.text());
      coordinatorLog.flush();
      monitor.notifyAll();
    }
  }

  RankArguments.Training training() {
    return training;
  }

  Path checkpoints() {
    return folder.resolve("checkpoints");
  }

  int port() {
    return coordinator.port();
  }

  int generation() {
    return coordinator.generation();
  }

  /** Starts a process, which waits to be told to join. */
  RankHandle start() throws IOException {
    synchronized (monitor) {
      String name = "p" + (ranks.size() + 1);
      List<String> command = new ArrayList<>(jvm);
      command.addAll(new RankArguments(name, port(), checkpoints(), training).toWords());
      RankHandle rank = new RankHandle(name, command, folder, monitor);
      ranks.add(rank);
      return rank;
    }
  }

  /** Returns all processes that were ever started. */
  List<RankHandle> ranks() {
    synchronized (monitor) {
      return List.copyOf(ranks);
    }
  }

  /** Returns the events of the coordinator. */
  List<Noted> noted() {
    synchronized (monitor) {
      return List.copyOf(noted);
    }
  }

  /** Returns the first event of a kind after a time. */
  Optional<Noted> noted(long after, Predicate<CoordinatorEvent> wanted) {
    synchronized (monitor) {
      return noted.stream()
          .filter(each -> each.nanos() >= after && wanted.test(each.event()))
          .findFirst();
    }
  }

  /** Waits until lines or events have made a condition true. */
  void await(String what, BooleanSupplier condition) throws InterruptedException {
    awaitValue(what, () -> condition.getAsBoolean() ? Optional.of(true) : Optional.empty());
  }

  /** Waits until lines or events give a value. */
  <T> T awaitValue(String what, Supplier<Optional<T>> value) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    synchronized (monitor) {
      Optional<T> found = value.get();
      while (found.isEmpty()) {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        if (left <= 0) {
          throw new HungException(what);
        }
        monitor.wait(Math.min(left, 100)); // the end of a process gives no notice
        found = value.get();
      }
      return found.get();
    }
  }

  /**
   * Returns the ranks of the current generation, if all of them live and have completed a step in
   * it; else nothing.
   */
  Optional<List<RankHandle>> members(int fromGeneration) {
    int now = generation();
    List<RankHandle> members =
        ranks().stream()
            .filter(
                each ->
                    each.isAlive() && !each.isKilled() && now > 0 && each.doneGeneration() == now)
            .sorted(Comparator.comparingInt(each -> each.world().rank()))
            .toList();
    boolean isWhole = !members.isEmpty() && members.size() == members.get(0).world().size();
    return isWhole && now >= fromGeneration ? Optional.of(members) : Optional.empty();
  }

  /** Returns the number of steps that the living ranks have completed. */
  long step() {
    return ranks().stream()
        .filter(each -> each.isAlive() && !each.isKilled())
        .map(RankHandle::done)
        .mapToLong(done -> done == null ? 0 : done.step() + 1)
        .max()
        .orElse(0);
  }

  private void killAll() {
    ranks().stream().filter(RankHandle::isAlive).forEach(RankHandle::kill);
  }

  @Override
  public void close() {
    killAll();
    for (RankHandle each : ranks()) {
      try {
        each.await(LIMIT_SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        break;
      }
    }
    coordinator.close();
    coordinatorLog.close();
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // it runs
    }
  }
}
