// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
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

  /** A job is hung if it completes no step for so long while something is waited for. */
  static final long LIMIT_SECONDS = 180;

  /** A rank without a sign of life for so long is expelled. */
  static final Duration SILENCE = Duration.ofSeconds(5);

  private static final long POLL_MILLIS = 20;

  /** Something that has not come in time. */
  static final class HungException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    HungException(String what) {
      super("no step for " + LIMIT_SECONDS + " s, and not: " + what);
    }
  }

  /** An event of the coordinator. */
  record Noted(long nanos, CoordinatorEvent event) {}

  private final Path folder;
  private final RankArguments.Training training;
  private final List<String> jvm;
  private final Object monitor = new Object();
  private final Coordinator coordinator;
  private final Thread atExit = new Thread(this::killAll, "kill ranks");

  /** Apart from the monitor, so that the thread of the coordinator never waits. */
  private final Queue<Noted> noted = new ConcurrentLinkedQueue<>();

  private final List<RankHandle> ranks = new CopyOnWriteArrayList<>();

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
    coordinator =
        Coordinator.listen(
            "127.0.0.1",
            0,
            CoordinatorOptions.of(LEAST, MOST)
                .withJob(NAME)
                .withEvents(event -> noted.add(new Noted(System.nanoTime(), event)))
                .withSilence(SILENCE)
                .withStart(Duration.ofMinutes(10))
                .withReplacement(Duration.ofMinutes(10))
                .withReturn(Duration.ofMinutes(10)));
    Runtime.getRuntime().addShutdownHook(atExit);
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

  /** Starts a process, which waits to be told to join. Called by one thread. */
  RankHandle start() throws IOException {
    String name = "p" + (ranks.size() + 1);
    List<String> command = new ArrayList<>(jvm);
    command.addAll(new RankArguments(name, port(), checkpoints(), training).toWords());
    RankHandle rank = new RankHandle(name, command, folder, monitor);
    ranks.add(rank);
    return rank;
  }

  /** Returns all processes that were ever started. */
  List<RankHandle> ranks() {
    return List.copyOf(ranks);
  }

  /** Returns the first event of a kind after a time. */
  Optional<Noted> noted(long after, Predicate<CoordinatorEvent> wanted) {
    return noted.stream()
        .filter(each -> each.nanos() >= after && wanted.test(each.event()))
        .findFirst();
  }

  /** Waits until lines or events have made a condition true. */
  void await(String what, BooleanSupplier condition) throws InterruptedException {
    awaitValue(what, () -> condition.getAsBoolean() ? Optional.of(true) : Optional.empty());
  }

  /** Waits until lines or events give a value. */
  <T> T awaitValue(String what, Supplier<Optional<T>> value) throws InterruptedException {
    Patience patience = new Patience(this);
    Optional<T> found = value.get();
    while (found.isEmpty()) {
      patience.require(what);
      synchronized (monitor) {
        monitor.wait(POLL_MILLIS); // neither events nor the end of a process give notice
      }
      found = value.get();
    }
    return found.get();
  }

  /**
   * Returns the ranks of the current generation, if all of them live and have completed a step in
   * it; else nothing.
   */
  Optional<List<RankHandle>> members(int fromGeneration) {
    int now = generation();
    if (now == 0 || now < fromGeneration) {
      return Optional.empty();
    }
    NavigableMap<Integer, RankHandle> members = new TreeMap<>();
    int size = 0;
    for (RankHandle each : ranks) {
      RankLog.Entered world = each.entered();
      if (each.isAlive()
          && !each.isKilled()
          && world != null
          && world.generation() == now
          && each.doneGeneration() == now) {
        members.put(world.rank(), each);
        size = world.size();
      }
    }
    return size > 0 && members.size() == size
        ? Optional.of(List.copyOf(members.values()))
        : Optional.empty();
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

  /** Ends all processes, and writes the events of the coordinator. */
  private void killAll() {
    ranks.stream().filter(RankHandle::isAlive).forEach(RankHandle::kill);
    List<String> lines =
        noted.stream()
            .map(each -> each.nanos() + " " + each.event().kind() + " " + each.event().text())
            .toList();
    try {
      Files.write(folder.resolve("coordinator.log"), lines);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // it runs
    }
  }
}
