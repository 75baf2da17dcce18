// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.Dataset;

/** The samples behind index lists: a factory of the tasks that fill batches with them. */
public interface IndexTasks extends AutoCloseable {
  /** Returns a task that is not begun. */
  BatchTask create(long epoch, IndexRequest request);

  /** Releases the samples; tasks that are already running end normally. */
  @Override
  void close();

  /** Returns the tasks that read samples from a dataset, one by one. */
  static IndexTasks reading(Dataset dataset) {
    return new IndexTasks() {
      @Override
      public BatchTask create(long epoch, IndexRequest request) {
        return new DatasetTask(dataset, epoch, request);
      }

      @Override
      public void close() {}
    };
  }

  /** Returns the tasks that let native code gather rows, batch by batch; takes ownership. */
  static IndexTasks gathering(NativeHandle<RowSet> rows) {
    return new IndexTasks() {
      @Override
      public BatchTask create(long epoch, IndexRequest request) {
        return new GatherTask(rows, epoch, request);
      }

      @Override
      public void close() {
        rows.close();
      }
    };
  }
}
