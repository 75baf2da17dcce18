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

  /** Which elements of the list of indices the rows are, where some were skipped; else null. */
  final int @Nullable [] elements;

  /** What the consumer gets in place of the batch. */
  final @Nullable RuntimeException failure;

  Gathered(long batch, Tensor[] tensors, int @Nullable [] elements) {
    this.batch = batch;
    this.tensors = tensors;
    this.elements = elements;
    this.failure = null;
  }

  private Gathered(long batch, RuntimeException failure) {
    this.batch = batch;
    this.tensors = NONE;
    this.elements = null;
    this.failure = failure;
  }

  static Gathered failed(long batch, RuntimeException failure) {
    return new Gathered(batch, failure);
  }

  long rows() {
    return tensors[0].size(0);
  }

  long bytes() {
    long bytes = 0;
    for (Tensor tensor : tensors) {
      bytes += tensor.nbytes();
    }
    return bytes;
  }
}
