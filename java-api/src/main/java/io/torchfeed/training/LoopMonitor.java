// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.summary.SummaryWriter;

/** A receiver of the figures of a {@link TrainingLoop} on this rank, after each step. */
@FunctionalInterface
public interface LoopMonitor {
  /**
   * Receives the figures after a step. Called by the thread of the loop, which waits for it; an
   * exception ends the run.
   *
   * @param figures valid until the end of the call
   */
  void stepDone(StepFigures figures);

  /**
   * Returns a monitor that writes curves over completed steps: {@code train/loss}, {@code
   * train/samples per second} of all ranks, the part of the time in which {@code train/wait share}
   * no batch was ready, and {@code train/learning rate} if the loop sets it. Each point is written
   * at once. A run that continues after n steps takes {@code SummaryWriter.resume(folder, n + 1)}.
   *
   * @param writer borrowed
   * @param everySteps the steps from one point of a curve to the next, at least 1
   * @return a monitor for one run
   * @throws IllegalArgumentException if the number of steps is below 1
   */
  static LoopMonitor curves(SummaryWriter writer, long everySteps) {
    return new LoopCurves(requireNonNull(writer, "writer"), everySteps);
  }

  /**
   * Returns a monitor that calls this one, then another one.
   *
   * @param next the other one
   * @return both
   */
  default LoopMonitor andThen(LoopMonitor next) {
    requireNonNull(next, "next");
    return figures -> {
      stepDone(figures);
      next.stepDone(figures);
    };
  }
}
