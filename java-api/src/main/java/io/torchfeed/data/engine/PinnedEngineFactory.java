// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

/** A factory of engines whose batches stay in memory that is page-locked for a device. */
public record PinnedEngineFactory(BatchEngineFactory host, String device)
    implements BatchEngineFactory {
  @Override
  public BatchEngine createEngine() {
    BatchEngine engine = host.createEngine();
    try {
      engine.pinFor(device, true);
      return engine;
    } catch (RuntimeException | Error e) {
      engine.close();
      throw e;
    }
  }

  @Override
  public void close() {
    host.close();
  }
}
