// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.NativeDeviceTransfer;
import io.torchfeed.data.task.LoaderMeter;
import java.util.function.Consumer;

/**
 * The times of the copies to a device, which reach the meter as they grow. One thread at a time.
 */
final class DeviceTimes {
  private final LoaderMeter meter;
  private final long[] values = new long[NativeDeviceTransfer.kTimeCount];
  private long copying;
  private long waiting;

  DeviceTimes(LoaderMeter meter) {
    this.meter = meter;
  }

  /**
   * Reports by how much they have grown.
   *
   * @param read writes them at the offsets that {@link NativeDeviceTransfer} has
   */
  void report(Consumer<long[]> read) {
    read.accept(values);
    meter.copied(
        values[NativeDeviceTransfer.kCopyingNanos] - copying,
        values[NativeDeviceTransfer.kWaitingNanos] - waiting);
    copying = values[NativeDeviceTransfer.kCopyingNanos];
    waiting = values[NativeDeviceTransfer.kWaitingNanos];
  }
}
