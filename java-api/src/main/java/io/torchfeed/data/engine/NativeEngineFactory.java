// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;

/** Creates engines that use libtorch's C++ data loader over rows that the factory owns. */
public record NativeEngineFactory(NativeHandle<RowSet> rows, NativeEngineOptions options)
    implements BatchEngineFactory {
  @Override
  public BatchEngine createEngine() {
    return NativeEngine.create(rows, options);
  }

  @Override
  public void close() {
    rows.close();
  }
}
