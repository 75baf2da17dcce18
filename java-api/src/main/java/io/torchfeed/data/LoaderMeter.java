// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.time.Duration;
import java.util.Optional;

/** Adds up what the passes and workers of a loader report. Thread-safe. */
final class LoaderMeter {
  private final int workers;
  private final boolean javaCode;
  private long batches;
  private long rows;
  private long bytes;
  private long elapsedNanos;
  private long waitNanos;
  private long samplingNanos;
  private long workNanos;
  private long transferNanos;
  private long ready;
  private long slowestNanos = -1;
  private long slowestNumber;
  private long slowestEpoch;

  LoaderMeter(int workers, boolean javaCode) {
    this.workers = workers;
    this.javaCode = javaCode;
  }

  /** Counts a batch at the consumer. */
  synchronized void delivered(Gathered gathered, int readyBatches) {
    batches++;
    rows += gathered.rows;
    bytes += gathered.bytes;
    ready += readyBatches;
  }

  /** Counts what a pass spent since it last said so. */
  synchronized void spent(long elapsed, long waiting, long sampling) {
    elapsedNanos += elapsed;
    waitNanos += waiting;
    samplingNanos += sampling;
  }

  /**
   * Counts the making of a batch.
   *
   * @param number of the sample or batch that took longest
   */
  synchronized void worked(long nanos, long epoch, long number, long longestNanos) {
    workNanos += nanos;
    if (longestNanos > slowestNanos) {
      slowestNanos = longestNanos;
      slowestNumber = number;
      slowestEpoch = epoch;
    }
  }

  /** Counts the handing of a batch to a device. */
  synchronized void transferred(long nanos) {
    transferNanos += nanos;
  }

  synchronized LoaderStats stats(int prefetch) {
    return new LoaderStats(
        batches,
        rows,
        bytes,
        Duration.ofNanos(elapsedNanos),
        Duration.ofNanos(waitNanos),
        Duration.ofNanos(samplingNanos),
        Duration.ofNanos(workNanos),
        Duration.ofNanos(transferNanos),
        workers,
        prefetch,
        batches == 0 ? 0 : (double) ready / batches,
        slowest(),
        javaCode);
  }

  private Optional<LoaderStats.Slowest> slowest() {
    return slowestNanos < 0
        ? Optional.empty()
        : Optional.of(
            new LoaderStats.Slowest(
                javaCode ? "sample" : "batch",
                slowestNumber,
                slowestEpoch,
                Duration.ofNanos(slowestNanos)));
  }
}
