// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.LoaderStats;
import java.time.Duration;

/** The batches of an epoch on one rank: their time, the part of it spent on waiting, the losses. */
public final class EpochClock {
  private static final double SMOOTHING = 0.95;

  private final DataLoader loader;
  private long start;
  private Duration waitedBefore = Duration.ZERO;
  private long batches;
  private long rows;
  private double lossSum;
  private double recentLoss;

  private EpochClock(DataLoader loader) {
    this.loader = loader;
    restart();
  }

  /**
   * Starts a clock.
   *
   * @param loader delivers the batches; borrowed
   * @return the clock
   */
  public static EpochClock start(DataLoader loader) {
    return new EpochClock(loader);
  }

  /** Starts again, for the next epoch. */
  public void restart() {
    start = System.nanoTime();
    waitedBefore = waitedSoFar();
    batches = 0;
    rows = 0;
    lossSum = 0;
  }

  private Duration waitedSoFar() {
    LoaderStats stats = loader.stats();
    return stats.starting().plus(stats.waited());
  }

  /**
   * Counts a batch.
   *
   * @param size its samples
   * @param loss its loss
   */
  public void count(long size, double loss) {
    recentLoss = batches == 0 ? loss : SMOOTHING * recentLoss + (1 - SMOOTHING) * loss;
    lossSum += loss;
    rows += size;
    batches++;
  }

  /**
   * Returns the number of batches.
   *
   * @return at least 0
   */
  public long batches() {
    return batches;
  }

  /**
   * Returns the number of samples.
   *
   * @return at least 0
   */
  public long rows() {
    return rows;
  }

  /**
   * Returns the sum of the losses.
   *
   * @return the sum
   */
  public double lossSum() {
    return lossSum;
  }

  /**
   * Returns a mean of the losses in which the last ones count most.
   *
   * @return the mean
   */
  public double recentLoss() {
    return recentLoss;
  }

  /**
   * Returns the time since the start.
   *
   * @return seconds
   */
  public double seconds() {
    return (System.nanoTime() - start) / 1e9;
  }

  /**
   * Returns the part of the time in which the loader had no batch ready.
   *
   * @return seconds
   */
  public double waitSeconds() {
    return waitedSoFar().minus(waitedBefore).toNanos() / 1e9;
  }
}
