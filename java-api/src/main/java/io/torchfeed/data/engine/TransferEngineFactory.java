// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;

/** A factory of engines that copy the batches of others to a device. */
public record TransferEngineFactory(BatchEngineFactory host, String device, LoaderMeter meter)
    implements BatchEngineFactory {
  /**
   * Fails immediately if something is missing, rather than at the first batch.
   *
   * @throws IllegalArgumentException if libtorch has no such device
   * @throws IllegalStateException if memory cannot be page-locked for the device
   */
  public static void requireUsable(String device) {
    Slab.allocatePinned(List.of(RowSpec.of(DType.UINT8)), 1, device).close();
  }

  @Override
  public BatchEngine createEngine() {
    BatchEngine engine = host.createEngine();
    try {
      return TransferEngine.over(engine, device, meter);
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
