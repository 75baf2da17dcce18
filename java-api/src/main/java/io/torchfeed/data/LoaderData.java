// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.memory.RowSpec;
import java.util.List;
import java.util.function.Function;

/** The data that a loader loads. */
sealed interface LoaderData {
  /** Returns whether Java code produces the samples. */
  default boolean isJavaCode() {
    return true;
  }

  /**
   * Rows of tensors or files.
   *
   * @param size the number of samples
   * @param columns the dtype and shape of each column
   * @param takesSeed whether samples may depend on the seed of the loader
   * @param share creates another reference to the rows, for an owner of the given name
   */
  record Native(
      long size,
      List<RowSpec> columns,
      boolean takesSeed,
      Function<String, NativeHandle<RowSet>> share)
      implements LoaderData {
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
