// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** What is done with each batch. */
interface BatchSink {
  /**
   * Uses a batch.
   *
   * @param data valid in this call
   * @param labels valid in this call; none where the row has none
   */
  void take(Tensor data, @Nullable Tensor labels);

  /** Does nothing. */
  static BatchSink none() {
    return (data, labels) -> {};
  }
}
