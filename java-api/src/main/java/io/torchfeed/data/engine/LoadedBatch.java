// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.SkippedSamples;
import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The result of a request, from the engine to the end of the consumer's batch: the rows of a batch,
 * or the reason why there are none. Engines know it by the number of its request; the pass that
 * takes it adds which samples it holds.
 *
 * <p>A {@link io.torchfeed.data.loader.Batch} refers to it and to the pass; it refers to neither,
 * so that a pass that the consumer has dropped can be detected.
 */
public final class LoadedBatch {
  private static final Tensor[] NO_TENSORS = {};
  private static final long[] NO_INDICES = {};

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

  /** The samples that were left out; null if none was. */
  public final @Nullable SkippedSamples skipped;

  /** The exception that the consumer gets in place of the batch. */
  public final @Nullable RuntimeException failure;

  /** True if the request turned out to be for nothing. */
  final boolean isNothing;

  // Set by the pass.
  private boolean isIdentified;
  private long epoch;
  private long number;
  private long[] indices = NO_INDICES;
  private int size;
  private @Nullable IndexRequest request;

  private volatile boolean ended;

  private LoadedBatch(
      long batch,
      Tensor[] tensors,
      long rows,
      long bytes,
      long nanos,
      int @Nullable [] elements,
      @Nullable SkippedSamples skipped,
      @Nullable RuntimeException failure,
      boolean isNothing) {
    this.batch = batch;
    this.tensors = tensors;
    this.rows = rows;
    this.bytes = bytes;
    this.nanos = nanos;
    this.elements = elements;
    this.skipped = skipped;
    this.failure = failure;
    this.isNothing = isNothing;
  }

  /** Returns a batch that native code gathered. */
  public static LoadedBatch gathered(
      long batch, Tensor[] tensors, long rows, long bytes, long nanos) {
    return new LoadedBatch(batch, tensors, rows, bytes, nanos, null, null, null, false);
  }

  /**
   * Returns a batch that Java code filled.
   *
   * @param bytes the memory of the tensors; querying it from them takes longer than creating them
   */
  static LoadedBatch filled(
      BatchTask task, Tensor[] tensors, long bytes, int @Nullable [] elements) {
    return new LoadedBatch(
        task.batch,
        tensors,
        task.rows(),
        bytes,
        task.nanos(),
        elements,
        task.skipped(),
        null,
        false);
  }

  /** Returns the result of a request that turned out to be for nothing. */
  static LoadedBatch nothing(BatchTask task) {
    return new LoadedBatch(task.batch, NO_TENSORS, 0, 0, task.nanos(), null, null, null, true);
  }

  public static LoadedBatch failed(long batch, RuntimeException failure) {
    return new LoadedBatch(batch, NO_TENSORS, 0, 0, 0, null, null, failure, false);
  }

  public static LoadedBatch failed(BatchTask task, RuntimeException failure) {
    return new LoadedBatch(task.batch, NO_TENSORS, 0, 0, task.nanos(), null, null, failure, false);
  }

  /** Returns the same batch, which it replaces, in other tensors. */
  public LoadedBatch in(Tensor[] others) {
    return with(others, indices, request);
  }

  /** Returns the same batch in other tensors, for any time: with its own copy of the index list. */
  public LoadedBatch keptIn(Tensor[] others) {
    return with(others, Arrays.copyOf(indices, size), null);
  }

  private LoadedBatch with(Tensor[] others, long[] samples, @Nullable IndexRequest of) {
    LoadedBatch other =
        new LoadedBatch(batch, others, rows, bytes, nanos, elements, skipped, failure, isNothing);
    other.isIdentified = isIdentified;
    other.epoch = epoch;
    other.number = number;
    other.size = size;
    other.indices = samples;
    other.request = of;
    return other;
  }

  /** Returns the same batch with the reason why it could not be delivered. */
  public LoadedBatch failed(RuntimeException reason) {
    return new LoadedBatch(batch, NO_TENSORS, 0, 0, nanos, null, null, reason, false);
  }

  /** Returns whether there are rows to deliver. */
  public boolean hasRows() {
    return failure == null && !isNothing;
  }

  /** Returns whether the pass has noted which samples the batch holds. */
  public boolean isIdentified() {
    return isIdentified;
  }

  /** Notes that the batch holds the samples of an index list, which is reused after it. */
  public void identify(IndexRequest list) {
    int[] kept = elements;
    if (kept == null) {
      indices = list.indices;
      size = list.size;
    } else {
      indices = Arrays.stream(kept).mapToLong(element -> list.indices[element]).toArray();
      size = kept.length;
    }
    epoch = list.epoch;
    number = list.batch;
    request = list;
    isIdentified = true;
  }

  /** Notes that the batch holds samples of a stream. */
  public void identify(long ofEpoch, long numberInEpoch, long[] samples) {
    epoch = ofEpoch;
    number = numberInEpoch;
    indices = samples;
    size = samples.length;
    isIdentified = true;
  }

  public long epoch() {
    return epoch;
  }

  /** Returns the number of the batch in its epoch. */
  public long number() {
    return number;
  }

  /** Returns the dataset indices; the first {@link #size} are valid; reused after the batch. */
  public long[] indices() {
    return indices;
  }

  public int size() {
    return size;
  }

  /** Returns the request, if it is to be reused. */
  public @Nullable IndexRequest request() {
    return request;
  }

  public boolean hasEnded() {
    return ended;
  }

  /** Ends the batch without freeing its tensors. May be called by any thread. */
  public void end() {
    ended = true;
  }

  /** Ends the batch and frees its tensors. Idempotent. */
  public synchronized void close() {
    ended = true;
    for (Tensor tensor : tensors) {
      tensor.close(); // idempotent
    }
  }
}
