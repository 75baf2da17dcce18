// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The result of a request to an engine: the rows of a batch, or the reason why there are none. */
public final class LoadedBatch {
  private static final Tensor[] NO_TENSORS = {};

  /** The number of the request. */
  public final long batch;

  /** A tensor for each column, owned by the batch. */
  public final Tensor[] tensors;

  /** The number of samples in the tensors. */
  public final long rows;

  /** The memory that the tensors take. */
  public final long bytes;

  /** The time that a worker took to load the batch, in nanoseconds. */
  public final long nanos;

  /** For each row, its position in the index list, if samples were skipped; otherwise null. */
  public final int @Nullable [] elements;

  /** The exception that the consumer gets in place of the batch. */
  public final @Nullable RuntimeException failure;

  /** True if the request turned out to be for nothing. */
  final boolean isNothing;

  private LoadedBatch(
      long batch,
      Tensor[] tensors,
      long rows,
      long bytes,
      long nanos,
      int @Nullable [] elements,
      @Nullable RuntimeException failure,
      boolean isNothing) {
    this.batch = batch;
    this.tensors = tensors;
    this.rows = rows;
    this.bytes = bytes;
    this.nanos = nanos;
    this.elements = elements;
    this.failure = failure;
    this.isNothing = isNothing;
  }

  /** Returns a batch that native code gathered. */
  public static LoadedBatch gathered(
      long batch, Tensor[] tensors, long rows, long bytes, long nanos) {
    return new LoadedBatch(batch, tensors, rows, bytes, nanos, null, null, false);
  }

  /**
   * Returns a batch that Java code filled.
   *
   * @param bytes the memory of the tensors; querying it from them takes longer than creating them
   */
  static LoadedBatch filled(
      BatchTask task, Tensor[] tensors, long bytes, int @Nullable [] elements) {
    return new LoadedBatch(
        task.batch, tensors, task.rows(), bytes, task.nanos(), elements, null, false);
  }

  /** Returns the result of a request that turned out to be for nothing. */
  static LoadedBatch nothing(BatchTask task) {
    return new LoadedBatch(task.batch, NO_TENSORS, 0, 0, task.nanos(), null, null, true);
  }

  public static LoadedBatch failed(long batch, RuntimeException failure) {
    return new LoadedBatch(batch, NO_TENSORS, 0, 0, 0, null, failure, false);
  }

  public static LoadedBatch failed(BatchTask task, RuntimeException failure) {
    return new LoadedBatch(task.batch, NO_TENSORS, 0, 0, task.nanos(), null, failure, false);
  }

  /** Returns the same batch in other tensors of the same shapes. */
  LoadedBatch in(Tensor[] others) {
    return new LoadedBatch(batch, others, rows, bytes, nanos, elements, failure, isNothing);
  }

  /** Returns the same batch with the reason why it could not be delivered. */
  public LoadedBatch failed(RuntimeException reason) {
    return new LoadedBatch(batch, NO_TENSORS, 0, 0, nanos, null, reason, false);
  }

  /** Returns whether there are rows to deliver. */
  public boolean hasRows() {
    return failure == null && !isNothing;
  }
}
