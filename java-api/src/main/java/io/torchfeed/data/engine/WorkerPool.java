// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.LoaderWorkerException;
import io.torchfeed.data.task.BatchTask;
import io.torchfeed.data.task.TaskOptions;
import io.torchfeed.data.task.Worker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The workers of an engine: a number of threads or, without any, one that uses the consumer's.
 * Guarded by the engine's monitor, except {@link #joinBriefly} and {@link #stopConsumers}. A worker
 * that is the caller does not count as busy. If a call fails for lack of memory, the next one does
 * the rest.
 */
final class WorkerPool {
  private static final System.Logger LOGGER = System.getLogger("io.torchfeed.data");

  private final int size;
  private final TaskOptions content;
  private final Consumer<Worker> body;
  private final List<Worker> workers = new ArrayList<>();
  private final @Nullable Worker[] leaving;
  private volatile @Nullable Worker ofConsumer;
  private @Nullable LoaderWorkerException death; // not yet reported

  /** Creates a pool without threads. */
  WorkerPool(int size, TaskOptions content, Consumer<Worker> body) {
    this.size = size;
    this.content = content;
    this.body = body;
    this.leaving = new Worker[size];
  }

  /**
   * Starts any missing workers.
   *
   * @throws IllegalStateException if no more threads can be started
   */
  void fillUp() {
    try {
      while (workers.size() < size) {
        Worker worker = Worker.ofThread(content, body);
        workers.add(worker);
        boolean started = false;
        try {
          worker.startThread();
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

  /** Returns the worker that uses the consumer's thread; another one if its start has failed. */
  Worker ofConsumer() {
    Worker present = ofConsumer;
    if (present == null || !present.isUsable()) {
      present = Worker.ofConsumer(content);
      ofConsumer = present;
    }
    return present;
  }

  /** Notes that the worker that uses the consumer's thread fills no more batches. */
  void stopConsumers() {
    Worker present = ofConsumer;
    if (present != null) {
      present.stop();
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

  private void bury(Worker worker, Consumer<BatchTask> failed) {
    BatchTask task = worker.current();
    if (task == null || task.isDone()) {
      if (worker.endedBy() != null) {
        death = new LoaderWorkerException(worker.number(), "while waiting", worker.endedBy());
      }
      worker.end();
      return;
    }
    task.fail(
        new LoaderWorkerException(
            worker.number(),
            "while loading batch %d of epoch %d".formatted(task.batch, task.epoch),
            worker.endedBy()));
    failed.accept(task);
    worker.end();
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

  boolean isBusy() {
    for (int i = 0; i < workers.size(); i++) {
      if (workers.get(i).isBusy()) {
        return true;
      }
    }
    return false;
  }

  /** Cancels the batches that workers are filling, and interrupts the workers. */
  void cancel() {
    for (int i = 0; i < workers.size(); i++) {
      workers.get(i).cancel();
    }
    Worker present = ofConsumer;
    if (present != null) {
      present.cancel();
    }
  }

  /**
   * Interrupts workers that are in their start hook, and notes whom {@link #joinBriefly} awaits.
   */
  void beginLeaving() {
    for (int i = 0; i < workers.size(); i++) {
      leaving[i] = workers.get(i);
      workers.get(i).cancelStart();
    }
  }

  /** Abandons the busy workers: they end after their current batch. */
  void dismissBusy() {
    for (int i = workers.size() - 1; i >= 0; i--) {
      if (workers.get(i).isBusy()) {
        workers.remove(i).dismiss();
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
    for (Worker worker : leaving) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (worker != null && left > 0) {
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
