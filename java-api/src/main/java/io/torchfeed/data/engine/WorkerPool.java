// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.LoaderWorkerException;
import io.torchfeed.data.task.BatchTask;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The worker threads of an engine. Guarded by the engine's monitor, except {@link #joinBriefly}. A
 * worker that is the caller does not count as busy. If a call fails for lack of memory, the next
 * one does the rest.
 */
final class WorkerPool {
  private static final System.Logger LOGGER = System.getLogger("io.torchfeed.data");

  private final int size;
  private final Supplier<LoaderWorker> factory;
  private final List<LoaderWorker> workers = new ArrayList<>();
  private final @Nullable LoaderWorker[] leaving;
  private @Nullable LoaderWorkerException death; // not yet reported

  /** Creates a pool without threads. */
  WorkerPool(int size, Supplier<LoaderWorker> factory) {
    this.size = size;
    this.factory = factory;
    this.leaving = new LoaderWorker[size];
  }

  /**
   * Starts any missing workers.
   *
   * @throws IllegalStateException if no more threads can be started
   */
  void fillUp() {
    try {
      while (workers.size() < size) {
        LoaderWorker worker = factory.get();
        workers.add(worker);
        boolean started = false;
        try {
          worker.start();
          started = true;
        } finally {
          if (!started) {
            workers.remove(worker);
          }
        }
      }
    } catch (OutOfMemoryError e) { // thrown by the JVM if no more threads can be started
      throw new IllegalStateException(
          "%d worker threads could not be started: %s".formatted(size, e.getMessage()), e);
    }
  }

  /** Returns whether a worker has ended, or none is left. */
  boolean isIncomplete() {
    for (int i = 0; i < workers.size(); i++) {
      if (workers.get(i).hasEnded()) {
        return true;
      }
    }
    return workers.isEmpty() && size > 0;
  }

  /**
   * Removes the workers that have ended. A batch that such a worker was filling fails.
   *
   * @param failed receives the failed batches
   */
  void reap(Consumer<BatchTask> failed) {
    for (int i = workers.size() - 1; i >= 0; i--) {
      if (workers.get(i).hasEnded()) {
        bury(workers.get(i), failed);
        workers.remove(i); // only now: an exception that could not be created is created again
      }
    }
  }

  private void bury(LoaderWorker worker, Consumer<BatchTask> failed) {
    BatchTask task = worker.current;
    if (task == null || task.isDone()) {
      if (worker.endedBy() != null) {
        death = new LoaderWorkerException(worker.number(), "while waiting", worker.endedBy());
      }
      worker.current = null;
      return;
    }
    task.fail(
        new LoaderWorkerException(
            worker.number(),
            "while loading batch %d of epoch %d".formatted(task.batch, task.epoch),
            worker.endedBy()));
    failed.accept(task);
    worker.current = null;
  }

  /**
   * Reports, once, that a worker died while it was not filling a batch.
   *
   * @throws LoaderWorkerException if one did
   */
  void throwDeath() {
    LoaderWorkerException unreported = death;
    death = null;
    if (unreported != null) {
      throw unreported;
    }
  }

  /** Logs a death between passes, which cost no batch, as a warning. */
  void logDeath() {
    LoaderWorkerException unreported = death;
    death = null;
    if (unreported != null) {
      LOGGER.log(System.Logger.Level.WARNING, "a worker died between two passes", unreported);
    }
  }

  private static boolean isBusy(LoaderWorker worker) {
    return worker.current != null && !worker.hasEnded() && worker != Thread.currentThread();
  }

  boolean isBusy() {
    for (int i = 0; i < workers.size(); i++) {
      if (isBusy(workers.get(i))) {
        return true;
      }
    }
    return false;
  }

  /** Cancels the batches that workers are filling, and interrupts the workers. */
  void cancel() {
    for (int i = 0; i < workers.size(); i++) {
      LoaderWorker worker = workers.get(i);
      if (worker.current != null) {
        worker.current.cancel();
      }
      if (isBusy(worker)) {
        worker.interrupt();
      }
    }
  }

  /**
   * Interrupts workers that are in their start hook, and notes whom {@link #joinBriefly} awaits.
   */
  void beginLeaving() {
    for (int i = 0; i < workers.size(); i++) {
      leaving[i] = workers.get(i);
      if (workers.get(i).isStarting) {
        workers.get(i).interrupt();
      }
    }
  }

  /** Abandons the busy workers: they end after their current batch. */
  void dismissBusy() {
    for (int i = workers.size() - 1; i >= 0; i--) {
      if (isBusy(workers.get(i))) {
        workers.remove(i).isDismissed = true;
      }
    }
  }

  /** Returns the workers' activities, for a message. */
  String describe() {
    long now = System.nanoTime();
    return workers.stream().map(worker -> worker.describe(now)).collect(Collectors.joining("; "));
  }

  /** Waits for the leaving workers to end, until a {@link System#nanoTime} deadline. */
  void joinBriefly(long end) {
    boolean wasInterrupted = false;
    for (LoaderWorker worker : leaving) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (worker != null && worker != Thread.currentThread() && left > 0) {
        try {
          worker.join(left);
        } catch (InterruptedException e) {
          wasInterrupted = true;
        }
      }
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
