// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowReader;
import io.torchfeed.bindings.RowSet;
import org.jspecify.annotations.Nullable;

/**
 * The writer of samples and the reader of rows that one thread uses for one task after the other;
 * each is created when it is first needed. Used by one thread at a time.
 */
public final class TaskTools implements AutoCloseable {
  private final TaskOptions options;
  private @Nullable SlabSampleWriter writer;
  private @Nullable NativeHandle<RowReader> reader;

  public TaskTools(TaskOptions options) {
    this.options = options;
  }

  TaskOptions options() {
    return options;
  }

  SlabSampleWriter writer() {
    SlabSampleWriter made = writer;
    if (made == null) {
      made = new SlabSampleWriter(options.layout());
      writer = made;
    }
    return made;
  }

  /** Returns the reader of the rows, which no other thread uses except to close it. */
  NativeHandle<RowReader> reader(NativeHandle<RowSet> rows) {
    NativeHandle<RowReader> open = reader;
    if (open == null || open.isClosed()) {
      open = rows.call(set -> NativeHandle.create("RowReader", () -> RowReader.create(set)));
      reader = open;
    }
    return open;
  }

  /** Closes the reader. */
  @Override
  public void close() {
    NativeHandle<RowReader> open = reader;
    if (open != null) {
      open.close();
    }
  }
}
