// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.task.IndexRequest;
import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The content of the batch that the consumer of a pass holds. A {@link
 * io.torchfeed.data.loader.Batch} refers to it and to the pass; it refers to neither, so that a
 * pass that the consumer has dropped can be detected.
 */
public final class DeliveredBatch {
  public final long epoch;
  public final long number;
  public final Tensor[] tensors;

  /** The dataset indices; the first {@link #size} are valid; reused after the batch. */
  public final long[] indices;

  public final int size;

  /** For each row, its position in the index list, if samples were skipped; otherwise null. */
  public final int @Nullable [] elements;

  /** The request, if it is to be reused. */
  final @Nullable IndexRequest request;

  private volatile boolean ended;

  /** Creates the batch of an index list. */
  DeliveredBatch(long epoch, IndexRequest request, LoadedBatch loaded) {
    this.epoch = epoch;
    this.number = request.batch;
    this.request = request;
    this.tensors = loaded.tensors;
    this.elements = loaded.elements;
    long[] all = request.indices;
    this.indices =
        elements == null ? all : Arrays.stream(elements).mapToLong(row -> all[row]).toArray();
    this.size = elements == null ? request.size : elements.length;
  }

  /** Creates the batch of a stream. */
  DeliveredBatch(long epoch, long number, long[] samples, LoadedBatch loaded) {
    this.epoch = epoch;
    this.number = number;
    this.request = null;
    this.tensors = loaded.tensors;
    this.elements = null;
    this.indices = samples;
    this.size = samples.length;
  }

  private DeliveredBatch(
      DeliveredBatch other, Tensor[] tensors, long[] indices, @Nullable IndexRequest request) {
    this.epoch = other.epoch;
    this.number = other.number;
    this.request = request;
    this.tensors = tensors;
    this.elements = other.elements;
    this.indices = indices;
    this.size = other.size;
  }

  /** Returns the same batch, which it replaces, in other tensors. */
  public DeliveredBatch withTensors(Tensor[] others) {
    return new DeliveredBatch(this, others, indices, request);
  }

  /** Returns the same batch in other tensors, with its own copy of the index list. */
  public DeliveredBatch in(Tensor[] others) {
    return new DeliveredBatch(this, others, Arrays.copyOf(indices, size), null);
  }

  public boolean hasEnded() {
    return ended;
  }

  /** Ends the batch without freeing its tensors. May be called by any thread. */
  void end() {
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
