// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;

/**
 * A monitor that prints a line on rank 0 from time to time: epoch, step, samples per second of all
 * ranks, loss, the part of the time spent waiting for batches, and the time left.
 */
public final class ProgressLine implements LoopMonitor {
  private final PrintStream out;
  private final Duration interval;
  private final RateMeter meter = new RateMeter();
  private Duration printed = Duration.ZERO;

  private ProgressLine(PrintStream out, Duration interval) {
    this.out = out;
    this.interval = interval;
  }

  /**
   * Returns a monitor that prints every ten seconds.
   *
   * @param out receives the lines; borrowed
   * @return a monitor for one run
   */
  public static ProgressLine to(PrintStream out) {
    return every(Duration.ofSeconds(10), out);
  }

  /**
   * Returns a monitor that prints after the first step that ends an interval.
   *
   * @param interval the time from one line to the next; each step if it is zero
   * @param out receives the lines; borrowed
   * @return a monitor for one run
   * @throws IllegalArgumentException if the interval is negative
   */
  public static ProgressLine every(Duration interval, PrintStream out) {
    if (requireNonNull(interval, "interval").isNegative()) {
      throw new IllegalArgumentException("interval must not be negative, got " + interval);
    }
    return new ProgressLine(requireNonNull(out, "out"), interval);
  }

  @Override
  public void stepDone(StepFigures figures) {
    Step step = requireNonNull(figures, "figures").step();
    Duration now = figures.elapsed();
    if (step.rank() != 0 || now.minus(printed).compareTo(interval) < 0) {
      return;
    }
    printed = now;
    RateMeter.Rates rates = meter.next(figures);
    String left =
        figures.stepsLeft().isPresent()
            ? ", " + time(figures.stepsLeft().getAsLong() * rates.secondsPerStep()) + " left"
            : "";
    out.printf(
        Locale.ROOT,
        "epoch %d, step %d: %.0f samples/s, loss %.4g, waited %.0f %%%s%n",
        step.epoch() + 1,
        step.number() + 1,
        rates.samplesPerSecond(),
        figures.loss(),
        100 * rates.waitShare(),
        left);
  }

  private static String time(double seconds) {
    long whole = Math.round(seconds);
    return whole < 3600
        ? "%d:%02d".formatted(whole / 60, whole % 60)
        : "%d:%02d:%02d".formatted(whole / 3600, whole / 60 % 60, whole % 60);
  }
}
