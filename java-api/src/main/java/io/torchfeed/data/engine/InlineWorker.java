// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import io.torchfeed.memory.Slab;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The substitute for workers in an engine without any: the consumer fills a batch when it takes
 * one. The caller holds the engine's monitor, except for {@link #fill} and {@link #stop}.
 */
final class InlineWorker {
  private final JavaEngineOptions options;
  private @Nullable BatchTask task;
  private @Nullable Thread thread; // fills the task
  private volatile @Nullable BatchFiller filler;

  InlineWorker(JavaEngineOptions options) {
    this.options = options;
  }

  /** Notes that the calling thread begins a batch; returns whether it had been interrupted. */
  boolean begin(BatchTask next) {
    task = next;
    thread = Thread.currentThread();
    return Thread.interrupted();
  }

  /** Fills the batch, without the monitor. */
  void fill(BatchTask next, Supplier<Slab> slabs) {
    try {
      BatchFiller present = filler;
      if (present == null || !present.isUsable()) {
        present = new BatchFiller(options);
        filler = present;
        present.start();
      }
      present.fill(next, slabs);
    } catch (Throwable e) {
      next.fail(e);
    }
  }

  /** Notes that the batch is filled. */
  void end(BatchTask filled, boolean wasInterruptedBefore) {
    task = null;
    thread = null;
    // An interrupt is meant for the consumer, unless the engine sent it.
    boolean wasInterrupted = Thread.interrupted() || filled.wasInterrupted();
    if (wasInterruptedBefore || (wasInterrupted && !filled.isCancelled())) {
      Thread.currentThread().interrupt();
    }
  }

  /** Cancels the batch that a consumer is filling. */
  void cancel() {
    BatchTask running = task;
    Thread consumer = thread;
    if (running != null && consumer != null) {
      running.cancel();
      if (consumer != Thread.currentThread()) {
        consumer.interrupt();
      }
    }
  }

  /** Notes that the engine is closed. */
  void stop() {
    BatchFiller present = filler;
    if (present != null) {
      present.stop();
    }
  }
}
