// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import io.torchfeed.data.task.TaskTools;
import io.torchfeed.memory.Slab;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The state with which a worker fills batches: whether its start hook has run, and its tools. Used
 * by one thread at a time.
 */
final class BatchFiller {
  private final JavaEngineOptions options;
  private final int number;
  private final TaskTools tools;
  private boolean started;
  private @Nullable Throwable startFailure;

  /** Creates a filler with a number that no other filler of the loader has. */
  BatchFiller(JavaEngineOptions options) {
    this.options = options;
    this.number = options.workerNumbers().getAndIncrement();
    this.tools = new TaskTools(options.content());
  }

  int number() {
    return number;
  }

  /** Runs the start hook. An exception of the hook fails the next batch. */
  void start() {
    try {
      options.hooks().start(number);
      started = true;
    } catch (Throwable e) {
      startFailure = e;
    }
  }

  /** Fills a batch. Throws nothing: a failure is stored in the batch. */
  void fill(BatchTask task, Supplier<Slab> slabs) {
    task.assignTo(number);
    try {
      if (startFailure != null) {
        task.fail(startFailure);
      } else {
        task.fill(slabs.get(), tools);
      }
    } catch (Throwable e) {
      task.fail(e);
    }
  }

  /** Returns whether this filler can fill another batch; if not, another filler takes its place. */
  boolean isUsable() {
    return startFailure == null;
  }

  /** Runs the stop hook, whose exceptions are ignored, as its contract says; closes the tools. */
  @SuppressWarnings("EmptyCatch")
  void stop() {
    tools.close();
    if (started) {
      started = false;
      try {
        options.hooks().stop(number);
      } catch (Throwable dropped) {
      }
    }
  }
}
