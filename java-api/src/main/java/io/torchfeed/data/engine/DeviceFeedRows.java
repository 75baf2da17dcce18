// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.DeviceFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.task.LoaderMeter;

/**
 * Rows that a device gathers, page-locked for as long as this object or one of its engines is open.
 */
public final class DeviceFeedRows {
  private static final int MAX_SLOTS = 8;
  private static final long OF_SMALL_BATCHES = 16L << 20;

  private final NativeHandle<RowSet> rows;
  private final NativeHandle<DeviceFeed> lock; // an engine that is never used
  private final String device;
  private final int batchRows;
  private final long rowBytes;
  private final LoaderMeter meter;

  private DeviceFeedRows(
      NativeHandle<RowSet> rows,
      NativeHandle<DeviceFeed> lock,
      String device,
      int batchRows,
      long rowBytes,
      LoaderMeter meter) {
    this.rows = rows;
    this.lock = lock;
    this.device = device;
    this.batchRows = batchRows;
    this.rowBytes = rowBytes;
    this.meter = meter;
  }

  /**
   * Page-locks the rows, and takes ownership of them.
   *
   * @throws IllegalArgumentException if they are not tensors in memory
   * @throws IllegalStateException if the device cannot read them
   */
  public static DeviceFeedRows over(
      NativeHandle<RowSet> rows, String device, int batchRows, long rowBytes, LoaderMeter meter) {
    try {
      NativeHandle<DeviceFeed> lock = feed(rows, device, slots(batchRows * rowBytes));
      return new DeviceFeedRows(rows, lock, device, batchRows, rowBytes, meter);
    } catch (NativeException e) {
      rows.close();
      throw NativeException.translate(e);
    } catch (RuntimeException | Error e) {
      rows.close();
      throw e;
    }
  }

  /**
   * Returns the number of batches that are on the device or on their way there: more of small ones,
   * whose copies take less time than starting them.
   */
  private static int slots(long batchBytes) {
    return (int) Math.max(2, Math.min(MAX_SLOTS, 2 + OF_SMALL_BATCHES / Math.max(1, batchBytes)));
  }

  private static NativeHandle<DeviceFeed> feed(
      NativeHandle<RowSet> rows, String device, int slots) {
    return rows.call(
        held -> NativeHandle.create("DataLoader", () -> DeviceFeed.create(held, device, slots)));
  }

  /** Returns the number of batches to request ahead. */
  public int ahead() {
    return slots(batchRows * rowBytes) - 1;
  }

  /** Returns the engines, which own the rows. */
  public BatchEngineFactory engines() {
    return new BatchEngineFactory(this::engine, this::close);
  }

  private BatchEngine engine() {
    int slots = slots(batchRows * rowBytes);
    return new DeviceFeedEngine(
        feed(rows, device, slots), device, slots, batchRows, rowBytes, meter);
  }

  private void close() {
    lock.close();
    rows.close();
  }
}
