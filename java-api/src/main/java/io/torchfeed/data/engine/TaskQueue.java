// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The batches requested of an engine and not yet taken. Guarded by the engine's monitor. */
final class TaskQueue {
  private final boolean inOrder;
  private final Deque<BatchTask> requested = new ArrayDeque<>();
  private final Deque<BatchTask> waiting = new ArrayDeque<>(); // requested batches not yet begun

  /**
   * Creates an empty queue.
   *
   * @param inOrder whether batches are taken in the order of their requests
   */
  TaskQueue(boolean inOrder) {
    this.inOrder = inOrder;
  }

  void add(BatchTask task) {
    requested.add(task);
    boolean added = false;
    try {
      waiting.add(task);
      added = true;
    } finally {
      if (!added) {
        requested.removeLast();
      }
    }
  }

  /** Returns whether at least half of the requested batches are not begun. */
  boolean isBehind() {
    return 2 * waiting.size() >= requested.size();
  }

  /** Returns the first batch that may be begun, or null. */
  @Nullable BatchTask firstReady() {
    for (BatchTask task : waiting) {
      if (task.isReady()) {
        return task;
      }
    }
    return null;
  }

  /** Notes that a batch is begun. */
  void begin(BatchTask task) {
    waiting.remove(task);
    task.begin();
  }

  /** Notes that a batch failed with its worker, which may have died as it began the batch. */
  void fail(BatchTask task) {
    waiting.remove(task);
    task.end();
  }

  /** Returns the batch that was requested first, or null. */
  @Nullable BatchTask first() {
    return requested.peek();
  }

  /** Returns the batch that can be taken now, or null. */
  @Nullable BatchTask takeable() {
    if (inOrder) {
      BatchTask first = requested.peek();
      return first != null && first.isDone() ? first : null;
    }
    for (BatchTask task : requested) {
      if (task.isDone()) {
        return task;
      }
    }
    return null;
  }

  void take(BatchTask task) {
    requested.remove(task);
  }

  /** Returns the number of batches that are done and not taken. */
  int ready() {
    int ready = 0;
    for (BatchTask task : requested) {
      ready += task.isDone() ? 1 : 0;
    }
    return ready;
  }

  /** Drops the batches that are not begun. */
  void dropWaiting() {
    waiting.clear();
  }

  /** Removes all batches; returns the ones that are done. */
  List<BatchTask> clear() {
    List<BatchTask> done = requested.stream().filter(task -> task.isDone()).toList();
    waiting.clear();
    requested.clear();
    return done;
  }
}
