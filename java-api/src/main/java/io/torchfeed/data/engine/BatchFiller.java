// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowReader;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.memory.Slab;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The state with which a worker fills batches: whether its start hook has run, and its writer of
 * samples and reader of rows. Used by one thread at a time.
 */
final class BatchFiller {
  private final JavaEngineOptions options;
  private final int number;
  private boolean started;
  private @Nullable Throwable startFailure;
  private @Nullable SlabSampleWriter writer;
  private @Nullable NativeHandle<RowReader> reader;

  /** Creates a filler with a number that no other filler of the loader has. */
  BatchFiller(JavaEngineOptions options) {
    this.options = options;
    this.number = options.workerNumbers().getAndIncrement();
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
        task.error = startFailure;
      } else {
        task.slab = slabs.get();
        task.fill(task.slab, this);
      }
    } catch (Throwable e) {
      task.error = e;
    }
  }

  JavaEngineOptions options() {
    return options;
  }

  /** Returns the writer of this filler's samples. */
  SlabSampleWriter writer() {
    SlabSampleWriter made = writer;
    if (made == null) {
      made = new SlabSampleWriter(options.layout());
      writer = made;
    }
    return made;
  }

  /** Returns this filler's reader of rows, which no other thread uses except to close it. */
  NativeHandle<RowReader> reader(NativeHandle<RowSet> rows) {
    NativeHandle<RowReader> open = reader;
    if (open == null || open.isClosed()) {
      open = rows.call(set -> NativeHandle.create("RowReader", () -> RowReader.create(set)));
      reader = open;
    }
    return open;
  }

  /** Returns whether this filler can fill another batch; if not, another filler takes its place. */
  boolean isUsable() {
    return startFailure == null;
  }

  /** Runs the stop hook, whose exceptions are ignored, as its contract says; closes the reader. */
  @SuppressWarnings("EmptyCatch")
  void stop() {
    NativeHandle<RowReader> open = reader;
    if (open != null) {
      open.close();
    }
    if (started) {
      started = false;
      try {
        options.hooks().stop(number);
      } catch (Throwable dropped) {
      }
    }
  }
}
