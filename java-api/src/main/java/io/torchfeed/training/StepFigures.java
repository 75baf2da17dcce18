// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.LoaderStats;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReductionStats;
import io.torchfeed.distributed.training.ReplicatedModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
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
  private @Nullable ReplicatedModel model;
  private @Nullable Step step;
  private OptionalLong stepsLeft = OptionalLong.empty();
  private final @Nullable LearningRate rate;

  StepFigures(@Nullable LearningRate rate) {
    this.rate = rate;
  }

  /** Takes the data and the model of the ranks that follow. */
  void take(DataLoader next, ReplicatedModel bound) {
    model = bound;
    if (next == loader) {
      return;
    }
    waitedBefore = waited();
    loader = next;
    startedWith = waitedBy(next);
  }

  /** Forgets the losses of a step. */
  void begin() {
    losses.forEach(Tensor::releaseReference);
    losses.clear();
  }

  /** Keeps the loss of a batch until the step is complete. */
  void add(Batch batch, Tensor loss) {
    loss.retainReference();
    losses.add(loss);
    samples += batch.size();
  }

  /** Takes a step that is complete. */
  void complete(Step done, OptionalLong left) {
    step = done;
    stepsLeft = left;
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

  /**
   * Returns the figures of the current loader since it was opened.
   *
   * @return a snapshot
   */
  public LoaderStats loaderStats() {
    return requireNonNull(loader, "the loader of a step").stats();
  }

  /**
   * Returns the averages of gradients so far, if a {@code DistributedDataParallel} makes them.
   *
   * @return a snapshot
   */
  public Optional<ReductionStats> reductionStats() {
    return model instanceof DistributedDataParallel averaged
        ? Optional.of(averaged.stats())
        : Optional.empty();
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
