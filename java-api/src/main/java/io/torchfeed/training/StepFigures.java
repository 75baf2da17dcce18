// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.LoaderStats;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The figures of a run on this rank after a step. Counts and times are sums since the run began, so
 * that a rate is the difference between two steps. Valid during a call of {@link LoopMonitor} only.
 */
public final class StepFigures {
  private final List<Tensor> losses = new ArrayList<>();
  private final long start = System.nanoTime();
  private @Nullable DataLoader loader;
  private Duration waitedBefore = Duration.ZERO;
  private Duration startedWith = Duration.ZERO;
  private long samples;
  private @Nullable Step step;
  private OptionalLong stepsLeft = OptionalLong.empty();
  private final @Nullable LearningRate rate;

  private final @Nullable LoopMonitor monitor;

  /** Creates figures for a monitor; without one, they cost nothing. */
  StepFigures(@Nullable LearningRate rate, @Nullable LoopMonitor monitor) {
    this.rate = rate;
    this.monitor = monitor;
  }

  /** Takes the data of the ranks that follow. */
  void take(DataLoader next) {
    if (monitor == null || next == loader) {
      return;
    }
    waitedBefore = waited();
    loader = next;
    startedWith = waitedBy(next);
  }

  /** Forgets the losses of a step that has failed. */
  void begin() {
    losses.forEach(Tensor::releaseReference);
    losses.clear();
  }

  /** Keeps the loss of a batch until the step is complete. */
  Tensor add(Batch batch, Tensor loss) {
    if (monitor != null) {
      loss.retainReference();
      losses.add(loss);
      samples += batch.size();
    }
    return loss;
  }

  /** Reports a step that is complete. */
  void report(Step done, Supplier<OptionalLong> left) {
    if (monitor == null) {
      return;
    }
    step = done;
    stepsLeft = left.get();
    try {
      monitor.stepDone(this);
    } finally {
      begin();
    }
  }

  /**
   * Returns the step that is complete.
   *
   * @return its number, epoch and rank
   */
  public Step step() {
    return requireNonNull(step, "the step");
  }

  /**
   * Returns the number of steps until the end of the last epoch; an estimate after ranks have
   * changed within an epoch.
   *
   * @return at least 0; empty over a stream
   */
  public OptionalLong stepsLeft() {
    return stepsLeft;
  }

  /**
   * Returns the number of samples of this rank's batches since the run began; a step that was
   * repeated counts each time.
   *
   * @return at least 0
   */
  public long samples() {
    return samples;
  }

  /**
   * Returns the time since the run began.
   *
   * @return the time, by a monotonic clock
   */
  public Duration elapsed() {
    return Duration.ofNanos(System.nanoTime() - start);
  }

  /**
   * Returns the part of that time in which the loader had no batch ready.
   *
   * @return the time
   */
  public Duration waited() {
    return loader == null ? waitedBefore : waitedBefore.plus(waitedBy(loader)).minus(startedWith);
  }

  private static Duration waitedBy(DataLoader loader) {
    LoaderStats stats = loader.stats();
    return stats.starting().plus(stats.waited());
  }

  /**
   * Returns the loss of the step on this rank, the sum over its batches. Each call reads it from
   * the device, and waits for a GPU.
   *
   * @return the loss; NaN if this rank had no batch
   */
  public double loss() {
    return losses.isEmpty()
        ? Double.NaN
        : losses.stream().mapToDouble(loss -> loss.item().toDouble()).sum();
  }

  /**
   * Returns the learning rate of the step, if the loop {@linkplain TrainingLoopBuilder#learningRate
   * sets it}.
   *
   * @return the rate of the optimizer's first group of parameters
   */
  public OptionalDouble learningRate() {
    return rate == null ? OptionalDouble.empty() : OptionalDouble.of(rate.rate());
  }
}
