// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The rows of a batch. */
final class Gathered {
  /** A tensor for each column, owned by the batch. */
  final Tensor[] tensors;

  /** Which elements of the list of indices the rows are, where some were skipped; else null. */
  final int @Nullable [] elements;

  Gathered(Tensor[] tensors, int @Nullable [] elements) {
    this.tensors = tensors;
    this.elements = elements;
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
