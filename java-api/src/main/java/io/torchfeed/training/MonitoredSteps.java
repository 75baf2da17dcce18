// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.ReplicatedModel;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The steps of a run, reported to its monitor; without one, they cost nothing. */
final class MonitoredSteps {
  private final @Nullable LoopMonitor monitor;
  private final StepFigures figures;

  MonitoredSteps(@Nullable LearningRate rate, @Nullable LoopMonitor monitor) {
    this.monitor = monitor;
    figures = new StepFigures(rate);
  }

  /** Takes the data and the model of the ranks that follow. */
  void take(DataLoader next, ReplicatedModel model) {
    if (monitor != null) {
      figures.take(next, model);
    }
  }

  /** Forgets the losses of a step that has failed. */
  void begin() {
    figures.begin();
  }

  /** Keeps the loss of a batch until the step is complete. */
  Tensor add(Batch batch, Tensor loss) {
    if (monitor != null) {
      figures.add(batch, loss);
    }
    return loss;
  }

  /** Reports a step that is complete. */
  void report(Step done, Supplier<OptionalLong> left) {
    if (monitor == null) {
      return;
    }
    figures.complete(done, left.get());
    try {
      monitor.stepDone(figures);
    } finally {
      figures.begin();
    }
  }

  /** Reports an evaluation. */
  void evaluated(Step completed, Metric metric) {
    if (monitor != null) {
      monitor.evaluated(completed, metric);
    }
  }

  /** Reports the end of the current ranks. */
  void leave() {
    figures.begin();
    if (monitor != null) {
      monitor.leave();
    }
  }
}
