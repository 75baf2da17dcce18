// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The rows of a batch, or why there are none. */
final class Gathered {
  private static final Tensor[] NONE = {};

  /** The number of the batch in its epoch. */
  final long batch;

  /** A tensor for each column, owned by the batch. */
  final Tensor[] tensors;

  /** How many samples are in them. */
  final long rows;

  /** The memory that the tensors take. */
  final long bytes;

  /** Which elements of the list of indices the rows are, where some were skipped; else null. */
  final int @Nullable [] elements;

  /** What the consumer gets in place of the batch. */
  final @Nullable RuntimeException failure;

  private Gathered(
      long batch,
      Tensor[] tensors,
      long rows,
      long bytes,
      int @Nullable [] elements,
      @Nullable RuntimeException failure) {
    this.batch = batch;
    this.tensors = tensors;
    this.rows = rows;
    this.bytes = bytes;
    this.elements = elements;
    this.failure = failure;
  }

  /** Tensors whose memory is known; to ask them takes longer than to make them. */
  static Gathered of(
      long batch, Tensor[] tensors, long rows, long bytes, int @Nullable [] elements) {
    return new Gathered(batch, tensors, rows, bytes, elements, null);
  }

  /** Tensors of any number and shape. */
  static Gathered of(long batch, Tensor[] tensors, long rows, int @Nullable [] elements) {
    long bytes = 0;
    for (Tensor tensor : tensors) {
      bytes += tensor.nbytes();
    }
    return of(batch, tensors, rows, bytes, elements);
  }

  static Gathered failed(long batch, RuntimeException failure) {
    return new Gathered(batch, NONE, 0, 0, null, failure);
  }
}
