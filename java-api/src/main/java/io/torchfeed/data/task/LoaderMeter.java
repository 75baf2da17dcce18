// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import java.time.Duration;
import java.util.Optional;

/** An accumulator of reports by the passes and workers of a loader. Thread-safe. */
public final class LoaderMeter {
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
  private long copyNanos;
  private long deviceWaitNanos;
  private long handNanos;
  private long heldNanos;
  private long freshSlabs;
  private long startNanos;
  private long startWaitNanos;
  private long ready;
  private long slowestNanos = -1;
  private long slowestNumber;
  private long slowestEpoch;
  private final SkippedSamples skipped = new SkippedSamples();

  public LoaderMeter(int workers, boolean javaCode) {
    this.workers = workers;
    this.javaCode = javaCode;
  }

  /** Counts a delivered batch. */
  public synchronized void delivered(long batchRows, long batchBytes, int readyBatches) {
    batches++;
    rows += batchRows;
    bytes += batchBytes;
    ready += readyBatches;
  }

  /** Counts the samples that a delivered batch lacks. */
  public synchronized void skipped(SkippedSamples samples) {
    skipped.addAll(samples);
  }

  /** Counts the time until workers received the first batches of a pass. */
  public synchronized void started(long nanos) {
    startNanos += nanos;
  }

  /**
   * Counts the part of the wait for the first batch of a pass beyond the time that loading it took.
   */
  public synchronized void startedIn(long waitNanos) {
    startWaitNanos += waitNanos;
  }

  /** Counts the times of a pass since its last report. */
  public synchronized void spent(long elapsed, long waiting, long sampling) {
    elapsedNanos += elapsed;
    waitNanos += waiting;
    samplingNanos += sampling;
  }

  /**
   * Counts the loading of a batch.
   *
   * @param number the number of the sample or batch that took longest
   */
  public synchronized void worked(long nanos, long epoch, long number, long longestNanos) {
    workNanos += nanos;
    if (longestNanos > slowestNanos) {
      slowestNanos = longestNanos;
      slowestNumber = number;
      slowestEpoch = epoch;
    }
  }

  /** Counts the transfer of a batch to a device. */
  public synchronized void transferred(long nanos) {
    transferNanos += nanos;
  }

  /** Counts copies by the device's clock, and the host's waits for the device. */
  public synchronized void copied(long copying, long waiting) {
    copyNanos += copying;
    deviceWaitNanos += waiting;
  }

  /** Counts the time that the consumer's thread spent on a batch of a device. */
  public synchronized void received(long nanos) {
    handNanos += nanos;
  }

  /**
   * Counts the taking of a batch.
   *
   * @param handing the time that it took, without the wait for the batch
   * @param held the time, since the batch before, that workers waited for one to be taken
   * @param fresh the number of slabs that were allocated since then
   */
  public synchronized void taken(long handing, long held, long fresh) {
    handNanos += workers == 0 ? 0 : handing; // without workers, the time to load it
    heldNanos += held;
    freshSlabs += fresh;
  }

  public synchronized LoaderFigures figures(int prefetch) {
    return new LoaderFigures(
        batches,
        rows,
        bytes,
        Duration.ofNanos(elapsedNanos),
        Duration.ofNanos(startNanos + startWaitNanos),
        Duration.ofNanos(waitNanos - startWaitNanos),
        Duration.ofNanos(samplingNanos),
        Duration.ofNanos(workNanos),
        Duration.ofNanos(transferNanos),
        workers,
        prefetch,
        batches == 0 ? 0 : (double) ready / batches,
        slowest(),
        javaCode,
        skipped.count(),
        skipped.first(),
        new LoaderFigures.Flow(
            Duration.ofNanos(copyNanos),
            Duration.ofNanos(deviceWaitNanos),
            Duration.ofNanos(handNanos),
            Duration.ofNanos(heldNanos),
            freshSlabs));
  }

  private Optional<LoaderFigures.Slowest> slowest() {
    return slowestNanos < 0
        ? Optional.empty()
        : Optional.of(
            new LoaderFigures.Slowest(
                javaCode ? "sample" : "batch",
                slowestNumber,
                slowestEpoch,
                Duration.ofNanos(slowestNanos)));
  }
}
