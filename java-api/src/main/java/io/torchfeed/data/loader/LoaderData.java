// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.StreamDataset;

/** The data that a loader loads. */
sealed interface LoaderData {
  /** Returns whether Java code produces the samples. */
  default boolean isJavaCode() {
    return true;
  }

  /** Rows of tensors or files. */
  record Native(NativeDataset dataset) implements LoaderData {
    @Override
    public boolean isJavaCode() {
      return false;
    }
  }

  /** Samples that are produced one by one, by index. */
  record Indexed(Dataset dataset) implements LoaderData {}

  /** Samples that can only be read sequentially. */
  record Stream(StreamDataset dataset) implements LoaderData {}
}
