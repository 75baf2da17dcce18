// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import java.time.Duration;

/** The rates between two steps of a run. Not thread-safe. */
final class RateMeter {
  private Duration elapsed = Duration.ZERO;
  private Duration waited = Duration.ZERO;
  private long samples;
  private long steps;

  /**
   * The rates since the call before.
   *
   * @param samplesPerSecond of all ranks, if they have equally many as this one
   * @param waitShare the part of the time in which no batch was ready, in [0, 1]
   * @param secondsPerStep the time of a step
   * @param seconds the time since then
   */
  record Rates(double samplesPerSecond, double waitShare, double secondsPerStep, double seconds) {}

  /** Returns the rates since the call before, or since the run began. */
  Rates next(StepFigures figures) {
    Duration now = figures.elapsed();
    double seconds = Math.max(1, now.minus(elapsed).toNanos()) / 1e9;
    double waitSeconds = figures.waited().minus(waited).toNanos() / 1e9;
    long number = figures.step().number() + 1;
    Rates rates =
        new Rates(
            (figures.samples() - samples) * figures.step().worldSize() / seconds,
            Math.min(1, waitSeconds / seconds),
            seconds / Math.max(1, number - steps),
            seconds);
    elapsed = now;
    waited = figures.waited();
    samples = figures.samples();
    steps = number;
    return rates;
  }
}
