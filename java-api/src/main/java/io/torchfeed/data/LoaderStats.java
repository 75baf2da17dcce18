// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/**
 * What a loader has delivered so far, and where the time went, over all its passes.
 *
 * @param batches batches delivered
 * @param rows samples in them
 * @param bytes bytes of their tensors
 * @param elapsed time in passes, from the opening of each to its last batch; passes that ran side
 *     by side count each
 * @param waited part of it in which {@link Batches#next} waited for rows, or made them itself
 *     without workers
 * @param sampling part of it that the order took
 * @param working time that workers spent making or gathering batches, added up over them
 * @param transferring time in which batches were handed to the copy stream of a device; zero
 *     without one
 * @param workers worker threads of a pass
 * @param prefetch batches asked for ahead
 * @param ready how many of them were ready when one was taken, on average
 * @param slowest the sample, or where Java does not make samples one by one the batch, that took
 *     longest; empty before the first one
 * @param javaCode whether the samples are made by a {@link Dataset}
 */
public record LoaderStats(
    long batches,
    long rows,
    long bytes,
    Duration elapsed,
    Duration waited,
    Duration sampling,
    Duration working,
    Duration transferring,
    int workers,
    int prefetch,
    double ready,
    Optional<Slowest> slowest,
    boolean javaCode) {
  private static final double SMALL_SHARE = 0.02;
  private static final double IDLE_SHARE = 0.5;

  /**
   * What took longest.
   *
   * @param what {@code "sample"} with its dataset index, or {@code "batch"} with its number
   * @param number the index or the number
   * @param epoch the epoch it was made for
   * @param time how long it took
   */
  public record Slowest(String what, long number, long epoch, Duration time) {}

  /**
   * Samples a second, over the time in passes.
   *
   * @return the rate; 0 before the first batch
   */
  public double rowsPerSecond() {
    return rate(rows);
  }

  /**
   * Bytes of tensors a second, over the time in passes.
   *
   * @return the rate; 0 before the first batch
   */
  public double bytesPerSecond() {
    return rate(bytes);
  }

  private double rate(long amount) {
    return elapsed.isZero() ? 0 : amount / seconds(elapsed);
  }

  /**
   * The part of the time in passes that went into waiting for rows.
   *
   * @return in [0, 1]
   */
  public double waitShare() {
    return share(waited, elapsed);
  }

  /**
   * The part of their time that workers were busy.
   *
   * @return in [0, 1]; 0 without workers
   */
  public double busyShare() {
    return workers == 0 ? 0 : share(working, elapsed.multipliedBy(workers));
  }

  /**
   * What an epoch would gain most from being faster.
   *
   * @return the stage that the others wait for; the consumer while fewer than two of a hundred
   *     parts of the time went into sampling and waiting
   */
  public Bottleneck bottleneck() {
    if (share(waited.plus(sampling), elapsed) < SMALL_SHARE) {
      return Bottleneck.CONSUMER;
    }
    if (sampling.compareTo(waited) > 0) {
      return Bottleneck.SAMPLER;
    }
    if (transferring.compareTo(working) > 0 && share(transferring, elapsed) > IDLE_SHARE) {
      return Bottleneck.TRANSFER;
    }
    if (workers > 0 && busyShare() < IDLE_SHARE / workers) {
      return Bottleneck.PREFETCH;
    }
    return javaCode ? Bottleneck.DATASET : Bottleneck.GATHER;
  }

  private static double share(Duration part, Duration whole) {
    return whole.isZero() ? 0 : Math.min(1, seconds(part) / seconds(whole));
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  /** One line for people. */
  @Override
  public String toString() {
    String slowestPart =
        slowest
            .map(
                longest ->
                    String.format(
                        Locale.ROOT,
                        "; slowest %s %d took %.3f ms",
                        longest.what(),
                        longest.number(),
                        seconds(longest.time()) * 1e3))
            .orElse("");
    return String.format(
        Locale.ROOT,
        "%d batches, %d rows in %.2f s: %.1f thousand rows/s, %.1f MB/s; waited %.2f %%,"
            + " %.1f of %d batches ready, %d workers busy %.0f %%%s; bottleneck: %s",
        batches,
        rows,
        seconds(elapsed),
        rowsPerSecond() / 1e3,
        bytesPerSecond() / 1e6,
        100 * waitShare(),
        ready,
        prefetch,
        workers,
        100 * busyShare(),
        slowestPart,
        bottleneck());
  }
}
