// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.summary.SummaryWriter;

/** The curves of a run, from the figures of its steps. */
final class LoopCurves implements LoopMonitor {
  private final SummaryWriter writer;
  private final long everySteps;
  private final RateMeter meter = new RateMeter();

  LoopCurves(SummaryWriter writer, long everySteps) {
    if (everySteps < 1) {
      throw new IllegalArgumentException(
          "the steps between points of a curve must be at least 1, got " + everySteps);
    }
    this.writer = writer;
    this.everySteps = everySteps;
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
    writer.scalar("train/wait share", rates.waitShare(), number);
    figures.learningRate().ifPresent(rate -> writer.scalar("train/learning rate", rate, number));
    writer.flush(); // a run that is killed must have the points before its checkpoint
  }
}
