// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** libtorch's C++ data loader over rows that it owns a share of. */
record NativeEngine(HeldRows rows, NativeFeedOptions options) implements Engine {
  @Override
  public Feed createFeed() {
    return NativeFeed.create(rows, options);
  }

  @Override
  public void close() {
    rows.close();
  }
}
