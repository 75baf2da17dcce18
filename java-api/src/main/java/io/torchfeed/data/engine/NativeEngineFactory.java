// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

/** An engine that uses libtorch's C++ data loader over rows that it shares ownership of. */
public record NativeEngineFactory(NativeRows rows, NativeEngineOptions options)
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
