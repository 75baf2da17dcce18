// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The result of a request to an engine: the rows of a batch, or the reason why there are none. */
public final class LoadedBatch {
  private static final Tensor[] NO_TENSORS = {};

  /** The number of the request. */
  public final long batch;

  /** The request, if it was for a batch of a stream. */
  public final @Nullable StreamTask task;

  /** A tensor for each column, owned by the batch. */
  public final Tensor[] tensors;

  /** The number of samples in the tensors. */
  final long rows;

  /** The memory that the tensors take. */
  final long bytes;

  /** The time that a worker took to load the batch, in nanoseconds. */
  public final long nanos;

  /** For each row, its position in the index list, if samples were skipped; otherwise null. */
  public final int @Nullable [] elements;

  /** The exception that the consumer gets in place of the batch. */
  public final @Nullable RuntimeException failure;

  private LoadedBatch(
      long batch,
      @Nullable StreamTask task,
      Tensor[] tensors,
      long rows,
      long bytes,
      long nanos,
      int @Nullable [] elements,
      @Nullable RuntimeException failure) {
    this.batch = batch;
    this.task = task;
    this.tensors = tensors;
    this.rows = rows;
    this.bytes = bytes;
    this.nanos = nanos;
    this.elements = elements;
    this.failure = failure;
  }

  /** Returns a batch that native code gathered. */
  public static LoadedBatch gathered(
      long batch, Tensor[] tensors, long rows, long bytes, long nanos) {
    return new LoadedBatch(batch, null, tensors, rows, bytes, nanos, null, null);
  }

  /**
   * Returns a batch that Java code filled.
   *
   * @param bytes the memory of the tensors; querying it from them takes longer than creating them
   */
  static LoadedBatch filled(
      BatchTask task, Tensor[] tensors, long bytes, int @Nullable [] elements) {
    return new LoadedBatch(
        task.batch, task.asStream(), tensors, task.rows, bytes, task.nanos, elements, null);
  }

  /** Returns the result for a batch whose shard had no samples left. */
  static LoadedBatch nothing(BatchTask task) {
    return new LoadedBatch(task.batch, task.asStream(), NO_TENSORS, 0, 0, task.nanos, null, null);
  }

  public static LoadedBatch failed(long batch, RuntimeException failure) {
    return new LoadedBatch(batch, null, NO_TENSORS, 0, 0, 0, null, failure);
  }

  public static LoadedBatch failed(BatchTask task, RuntimeException failure) {
    return new LoadedBatch(
        task.batch, task.asStream(), NO_TENSORS, 0, 0, task.nanos, null, failure);
  }

  /** Returns the same batch in other tensors of the same shapes. */
  LoadedBatch in(Tensor[] others) {
    return new LoadedBatch(batch, task, others, rows, bytes, nanos, elements, failure);
  }

  /** Returns the same batch with the reason why it could not be delivered. */
  public LoadedBatch failed(RuntimeException reason) {
    return new LoadedBatch(batch, task, NO_TENSORS, 0, 0, nanos, null, reason);
  }

  /** Returns whether there are rows to deliver. */
  public boolean hasRows() {
    return failure == null && (task == null || !task.isNothing());
  }
}
