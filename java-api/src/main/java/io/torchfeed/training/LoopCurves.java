// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.distributed.training.ReductionStats;
import io.torchfeed.summary.SummaryWriter;

/** The curves of a run, from the figures of its steps. */
final class LoopCurves implements LoopMonitor {
  private final SummaryWriter writer;
  private final long everySteps;
  private final RateMeter meter;
  private long reductions;
  private long reducing;

  LoopCurves(SummaryWriter writer, long everySteps) {
    this(writer, everySteps, new RateMeter());
  }

  /**
   * Continues curves.
   *
   * @param meter of the run
   */
  LoopCurves(SummaryWriter writer, long everySteps, RateMeter meter) {
    this.writer = writer;
    this.everySteps = requireAtLeastOne(everySteps);
    this.meter = meter;
  }

  static long requireAtLeastOne(long everySteps) {
    if (everySteps < 1) {
      throw new IllegalArgumentException(
          "the steps between points of a curve must be at least 1, got " + everySteps);
    }
    return everySteps;
  }

  @Override
  public void stepDone(StepFigures figures) {
    long number = figures.step().number() + 1;
    if (number % everySteps != 0) {
      return;
    }
    RateMeter.Rates rates = meter.next(figures);
    writer.scalar("train/loss", figures.loss(), number);
    writer.scalar("train/samples per second", rates.samplesPerSecond(), number);
    writer.scalar("train/seconds per step", rates.secondsPerStep(), number);
    writer.scalar("train/wait share", rates.waitShare(), number);
    figures.reductionStats().ifPresent(stats -> reductions(stats, rates, number));
    figures.learningRate().ifPresent(rate -> writer.scalar("train/learning rate", rate, number));
    writer.flush(); // a run that is killed must have the points before its checkpoint
  }

  private void reductions(ReductionStats stats, RateMeter.Rates rates, long number) {
    long before = stats.reductions() < reductions ? 0 : reducing; // of another model
    double seconds = (stats.waited().toNanos() - before) / 1e9;
    reductions = stats.reductions();
    reducing = stats.waited().toNanos();
    writer.scalar("train/reduction wait share", Math.min(1, seconds / rates.seconds()), number);
    long bytes = stats.buckets().stream().mapToLong(ReductionStats.Bucket::sentBytes).sum();
    writer.scalar("train/bytes per step", (double) bytes, number);
  }

  @Override
  public void evaluated(Step step, Metric metric) {
    String tag = metric.isLoss() ? "evaluation/loss" : "evaluation/score";
    writer.scalar(tag, metric.value(), step.number());
    writer.flush();
  }
}
