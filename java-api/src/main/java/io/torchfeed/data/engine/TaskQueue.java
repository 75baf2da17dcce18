// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import java.util.ArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The batches requested of an engine and not yet taken. Only {@link #add} allocates; if that fails,
 * it has changed nothing. Guarded by the engine's monitor.
 */
final class TaskQueue {
  private final boolean inOrder;
  private final int workers;
  private long changedAt; // the time of the last change
  private long heldNanos;
  // Lists, which are short: a deque that cannot grow loses its content.
  private final ArrayList<BatchTask> requested = new ArrayList<>();
  private final ArrayList<BatchTask> waiting = new ArrayList<>(); // requested, and not yet begun

  /**
   * Creates an empty queue.
   *
   * @param inOrder whether batches are taken in the order of their requests
   * @param workers the number of threads that fill them
   */
  TaskQueue(boolean inOrder, int workers) {
    this.inOrder = inOrder;
    this.workers = workers;
  }

  /** Adds the time since the last change to the time that workers were held. */
  private void account() {
    long now = System.nanoTime();
    int ready = ready();
    if (ready > 0) {
      int running = requested.size() - waiting.size() - ready;
      heldNanos += (now - changedAt) * Math.max(0, workers - running);
    }
    changedAt = now;
  }

  /**
   * Returns the time since the last call that workers have waited while a batch was ready to be
   * taken, summed over the workers.
   */
  long takeHeldNanos() {
    long nanos = heldNanos;
    heldNanos = 0;
    return nanos;
  }

  void add(BatchTask task) {
    requested.ensureCapacity(requested.size() + 1);
    waiting.ensureCapacity(waiting.size() + 1);
    account();
    requested.add(task);
    waiting.add(task);
  }

  /** Returns whether at least half of the requested batches are not begun. */
  boolean isBehind() {
    return 2 * waiting.size() >= requested.size();
  }

  /** Returns the first batch that may be begun, or null. */
  @Nullable BatchTask firstReady() {
    for (int i = 0; i < waiting.size(); i++) {
      if (waiting.get(i).isReady()) {
        return waiting.get(i);
      }
    }
    return null;
  }

  /** Notes that a batch is begun. */
  void begin(BatchTask task) {
    account();
    waiting.remove(task);
    task.begin();
  }

  /** Notes that a batch is done. */
  void end(BatchTask task) {
    account();
    task.end();
  }

  /** Notes that a batch failed with its worker, which may have died as it began the batch. */
  void fail(BatchTask task) {
    account();
    waiting.remove(task);
    task.end();
  }

  /**
   * Returns the batch that was requested first.
   *
   * @throws IllegalStateException if there is none
   */
  BatchTask first() {
    if (requested.isEmpty()) {
      throw new IllegalStateException("no batch was requested");
    }
    return requested.get(0);
  }

  /** Returns the batch that can be taken now, or null. */
  @Nullable BatchTask takeable() {
    int candidates = inOrder ? Math.min(1, requested.size()) : requested.size();
    for (int i = 0; i < candidates; i++) {
      if (requested.get(i).isDone()) {
        return requested.get(i);
      }
    }
    return null;
  }

  void take(BatchTask task) {
    account();
    requested.remove(task);
  }

  /** Returns the number of batches that are done and not taken. */
  int ready() {
    int ready = 0;
    for (int i = 0; i < requested.size(); i++) {
      ready += requested.get(i).isDone() ? 1 : 0;
    }
    return ready;
  }

  /** Drops the batches that are not begun. */
  void dropWaiting() {
    waiting.clear();
  }

  /**
   * Removes all batches.
   *
   * @param dropped receives those that are done
   */
  void clear(Consumer<BatchTask> dropped) {
    waiting.clear();
    while (!requested.isEmpty()) {
      BatchTask task = requested.remove(requested.size() - 1);
      if (task.isDone()) {
        dropped.accept(task);
      }
    }
  }
}
