// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.task.LoaderMeter;

/**
 * The time spent in the stages of a pass. The thread inside the pass measures; any thread may read
 * {@link #waitNanos}.
 */
final class PassTimes {
  private final LoaderMeter meter;
  private volatile long waitNanos;
  private boolean hasDelivered;
  private long reportedAt; // and the totals reported by then
  private long reportedWait;
  private long reportedSampling;

  PassTimes(LoaderMeter meter) {
    this.meter = meter;
  }

  void begin() {
    reportedAt = System.nanoTime();
  }

  /** Notes that workers have received the first batches. */
  void started(long samplingNanos) {
    meter.started(System.nanoTime() - reportedAt - samplingNanos);
    report(samplingNanos);
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // one thread writes
  void waited(long nanos) {
    waitNanos += nanos;
  }

  /** Reports the time spent since the last report. */
  void report(long samplingNanos) {
    long now = System.nanoTime();
    long wait = waitNanos;
    meter.spent(now - reportedAt, wait - reportedWait, samplingNanos - reportedSampling);
    reportedAt = now;
    reportedWait = wait;
    reportedSampling = samplingNanos;
  }

  /**
   * Notes a batch. The wait for the first one, beyond the time that loading it took, counts as
   * start-up.
   */
  void delivered(LoadedBatch batch, int ready) {
    if (!hasDelivered) {
      hasDelivered = true;
      meter.startedIn(Math.max(0, waitNanos - batch.nanos));
    }
    meter.delivered(batch.rows, batch.bytes, ready);
    if (batch.skipped != null) {
      meter.skipped(batch.skipped);
    }
  }

  long waitNanos() {
    return waitNanos;
  }
}
