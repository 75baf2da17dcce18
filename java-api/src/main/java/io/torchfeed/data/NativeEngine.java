// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.NativeHandle;
import org.bytedeco.pytorch.TensorVector;

/** libtorch's C++ data loader over tensor columns, of which it owns a share. */
record NativeEngine(NativeHandle<TensorVector> columns, int batchRows, int workers, int prefetch)
    implements Engine {
  @Override
  public Feed createFeed() {
    return NativeFeed.create(columns, batchRows, workers, prefetch);
  }

  @Override
  public void close() {
    columns.close();
  }
}
