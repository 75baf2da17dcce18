// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;

/** Another engine, whose batches are copied to a device. */
record TransferEngine(Engine host, String device, LoaderMeter meter) implements Engine {
  /**
   * Says at once what is missing, not at the first batch.
   *
   * @throws IllegalArgumentException if the device is none that libtorch knows
   * @throws IllegalStateException if memory cannot be page-locked for it
   */
  static void requireUsable(String device) {
    Slab.allocatePinned(List.of(RowSpec.of(DType.UINT8)), 1, device).close();
  }

  @Override
  public Feed createFeed() {
    Feed feed = host.createFeed();
    try {
      return TransferFeed.over(feed, device, meter);
    } catch (RuntimeException | Error e) {
      feed.close();
      throw e;
    }
  }

  @Override
  public void close() {
    host.close();
  }
}
