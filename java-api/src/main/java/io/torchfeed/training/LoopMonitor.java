// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.summary.SummaryWriter;
import java.nio.file.Path;

/**
 * A receiver of the figures of a {@link TrainingLoop} on this rank, after each step. The thread of
 * the loop calls it and waits for it; an exception ends the run.
 */
@FunctionalInterface
public interface LoopMonitor {
  /**
   * Receives the figures after a step.
   *
   * @param figures valid until the end of the call
   */
  void stepDone(StepFigures figures);

  /**
   * Receives the result of an evaluation, which counts on all ranks.
   *
   * @param step the steps completed, the epoch and this rank
   * @param metric perhaps NaN
   */
  default void evaluated(Step step, Metric metric) {
    requireNonNull(step, "step");
    requireNonNull(metric, "metric");
  }

  /**
   * Ends the time with the current ranks, also after a failure. The next step, if there is one, is
   * of other ranks, so that this one may have another number; at the end of a run there is none.
   */
  default void leave() {}

  /**
   * Returns a monitor that writes curves over completed steps: {@code train/loss}, {@code
   * train/samples per second} of all ranks, {@code train/seconds per step}, the part of the time in
   * which {@code train/wait share} no batch was ready, {@code train/learning rate} if the loop sets
   * it, and {@code evaluation/loss} or {@code evaluation/score} if the loop evaluates. Each point
   * is written at once. A run that continues after n steps takes {@code
   * SummaryWriter.resume(folder, n + 1)}, or {@link #curves(Path, long)}.
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
   * Returns a monitor that opens the writer of such curves itself after the first step, and closes
   * it at the end. The curves continue there: values of this step and later ones, which an earlier
   * run has left in the folder, go. Each rank has a monitor with the same folder. Rank 0 writes
   * into it, and adds {@code train/ranks}, their number, whenever ranks change; the others write
   * into folders below, {@code rank-1} and so on. While a process that was this rank before still
   * has the folder open, points are left out, with a warning. A {@code run.jsonl} beside the curves
   * says which process was the rank. {@code Torchfeed report FOLDER} makes a page of them.
   *
   * @param folder of the run, created if need be
   * @param everySteps the steps from one point of a curve to the next, at least 1
   * @return a monitor for one run, which throws {@link java.io.UncheckedIOException} if the folder
   *     cannot be written
   * @throws IllegalArgumentException if the number of steps is below 1
   */
  static LoopMonitor curves(Path folder, long everySteps) {
    return new FolderCurves(requireNonNull(folder, "folder"), everySteps);
  }

  /**
   * Returns a monitor that gives the figures of this rank to the SDK of OpenTelemetry that the
   * program has registered ({@code GlobalOpenTelemetry}); without one, it does nothing. All names
   * begin with {@code torchfeed.}: {@code training.steps}, {@code training.samples}, {@code
   * training.step.duration}, {@code training.loss}, {@code training.learning_rate} if the loop sets
   * it, {@code training.metric} of the last evaluation, {@code loader.batches}, {@code
   * loader.bytes}, {@code loader.wait.time}, {@code loader.ready}, and of a {@code
   * DistributedDataParallel}, {@code group.reductions}, {@code group.sent} in bytes and {@code
   * group.wait.time}. Times are in seconds. The attributes {@code torchfeed.rank} and {@code
   * torchfeed.world_size} tell ranks apart. An SDK that is registered during the run receives the
   * counts from its beginning on. Needs the dependency {@code io.opentelemetry:opentelemetry-api}.
   *
   * @param everySteps the steps from one record to the next, at least 1; the steps after the last
   *     one are counted, too
   * @return a monitor for one run
   * @throws IllegalArgumentException if the number of steps is below 1
   * @throws IllegalStateException if OpenTelemetry's API is missing
   */
  static LoopMonitor telemetry(long everySteps) {
    try {
      requireNonNull(GlobalOpenTelemetry.class.getName());
    } catch (NoClassDefFoundError e) {
      throw new IllegalStateException(
          "telemetry needs OpenTelemetry's API; add the dependency"
              + " io.opentelemetry:opentelemetry-api, version 1.68.0",
          e);
    }
    return new Telemetry(everySteps);
  }

  /**
   * Returns a monitor that calls this one, then another one.
   *
   * @param next the other one
   * @return both
   */
  default LoopMonitor andThen(LoopMonitor next) {
    return new MonitorPair(this, requireNonNull(next, "next"));
  }
}
