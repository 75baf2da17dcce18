// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.Checkpoint.Metric;

/** Two monitors of a loop, one after the other. */
record MonitorPair(LoopMonitor first, LoopMonitor second) implements LoopMonitor {
  @Override
  public void stepDone(StepFigures figures) {
    first.stepDone(figures);
    second.stepDone(figures);
  }

  @Override
  public void evaluated(Step step, Metric metric) {
    first.evaluated(step, metric);
    second.evaluated(step, metric);
  }

  @Override
  public void leave() {
    try {
      first.leave();
    } finally {
      second.leave();
    }
  }
}
