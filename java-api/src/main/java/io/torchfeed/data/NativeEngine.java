// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** libtorch's C++ data loader over rows that it owns a share of. */
record NativeEngine(HeldRows rows, int batchRows, int workers, int prefetch) implements Engine {
  @Override
  public Feed createFeed() {
    return NativeFeed.create(rows, batchRows, workers, prefetch);
  }

  @Override
  public void close() {
    rows.close();
  }
}
