// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** A consumer of batches. */
interface BatchSink {
  /**
   * Consumes a batch.
   *
   * @param data valid only during this call
   * @param labels valid only during this call; null if the row has none
   */
  void take(Tensor data, @Nullable Tensor labels);

  /** Returns a sink that does nothing. */
  static BatchSink none() {
    return (data, labels) -> {};
  }
}
