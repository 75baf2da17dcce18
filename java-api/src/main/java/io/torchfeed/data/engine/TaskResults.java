// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.LoaderWorkerException;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.data.task.BatchTask;
import io.torchfeed.internal.Failures;
import io.torchfeed.memory.Slab;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The results that the consumer gets for batches that Java code has filled, or failed to fill. */
final class TaskResults implements AutoCloseable {
  private final JavaEngineOptions options;
  private final TensorVectors vectors = new TensorVectors();

  TaskResults(JavaEngineOptions options) {
    this.options = options;
  }

  /**
   * Returns the tensors of the batch, which view its slab, or the reason why there are none. If not
   * even that can be created, throws an {@link OutOfMemoryError}, and can be called again.
   */
  LoadedBatch of(BatchTask task, long due) {
    Throwable error = task.error();
    Slab slab = task.slab();
    try {
      SampleException failure = error == null ? task.failure(due) : null;
      if (failure != null) {
        return LoadedBatch.failed(task, failure);
      }
      if (error == null && task.isNothing()) {
        return LoadedBatch.nothing(task);
      }
      if (error == null && slab != null) {
        return loaded(task, slab);
      }
    } catch (Throwable e) {
      error = e;
    }
    return LoadedBatch.failed(task, failureOf(task, due, error));
  }

  private LoadedBatch loaded(BatchTask task, Slab slab) {
    int[] elements = task.elements();
    BatchLayout layout = options.content().layout();
    Tensor[] made = task.made();
    if (made != null) {
      return LoadedBatch.filled(task, made, bytes(made), elements);
    }
    if (layout.isPlain()) {
      Tensor[] views = vectors.filled(vector -> slab.views(task.rows(), vector));
      return LoadedBatch.filled(task, views, task.rows() * layout.rowBytes(), elements);
    }
    Tensor[] views = layout.tensors(slab, task.rows(), task.lengths());
    return LoadedBatch.filled(task, views, bytes(views), elements);
  }

  private static long bytes(Tensor[] tensors) {
    long bytes = 0;
    for (Tensor tensor : tensors) {
      bytes += tensor.nbytes();
    }
    return bytes;
  }

  private RuntimeException failureOf(BatchTask task, long due, @Nullable Throwable error) {
    if (error instanceof LoaderWorkerException death) {
      return death;
    }
    String reason = error == null ? "it was cancelled" : Failures.describe(error);
    return new IllegalStateException(
        "batch %d of epoch %d, of at most %d rows, could not be loaded by worker %d: %s"
            .formatted(task.number(due), task.epoch, options.batchRows(), task.worker(), reason),
        error);
  }

  @Override
  public void close() {
    vectors.close();
  }
}
