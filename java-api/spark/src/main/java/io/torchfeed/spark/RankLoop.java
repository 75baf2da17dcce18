// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.EvaluationOptions;
import io.torchfeed.training.TrainingLoop;
import io.torchfeed.training.TrainingLoop.Evaluation;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A {@link TrainingLoop} of a rank over its own rows, which reports figures to the driver:
 * partitions may differ in size, checkpoints are saved after a number of steps, and a repeated
 * stage continues from the last one, so that each row of an epoch is used in exactly one step of
 * those that count.
 *
 * <p>The ranks take steps together. A rank that has used all of its rows takes part in the others'
 * steps without a batch, as {@link DistributedDataParallel#unevenInputs} describes. Each step sets
 * the seed of libtorch's generators, so that a repeated one draws the same numbers if its executor
 * has no other rank.
 *
 * <p>Immutable: each {@code with} method returns a new loop.
 */
public final class RankLoop {
  private static final long STEPS_BETWEEN_CHECKPOINTS = 100;

  /** The forward pass of a batch. */
  @FunctionalInterface
  public interface BatchLoss {
    /**
     * Computes the loss; tensors that are made here are freed after the step.
     *
     * @param batch valid until the end of the step
     * @return a single number
     */
    Tensor of(Batch batch);
  }

  private final RankContext context;
  private final DistributedDataParallel model;
  private final DataLoader loader;
  private final Consumer<TrainingState.Builder> state;
  private final long epochs;
  private final long steps;
  private final long seed;
  private final @Nullable Evaluation<? super DistributedDataParallel> evaluation;
  private final @Nullable EvaluationOptions options;
  private final @Nullable ToDoubleFunction<Batch> weight;
  private final @Nullable TraceOptions trace;

  private RankLoop(
      RankContext context,
      DistributedDataParallel model,
      DataLoader loader,
      Consumer<TrainingState.Builder> state,
      long epochs,
      long steps,
      long seed,
      @Nullable Evaluation<? super DistributedDataParallel> evaluation,
      @Nullable EvaluationOptions options,
      @Nullable ToDoubleFunction<Batch> weight,
      @Nullable TraceOptions trace) {
    this.context = context;
    this.model = model;
    this.loader = loader;
    this.state = state;
    this.epochs = epochs;
    this.steps = steps;
    this.seed = seed;
    this.evaluation = evaluation;
    this.options = options;
    this.weight = weight;
    this.trace = trace;
  }

  /**
   * Returns a loop over one epoch, with a checkpoint after every 100 steps if the job has
   * checkpoints.
   *
   * @param context of the rank
   * @param model borrowed
   * @param loader over the rows of the rank, in the order of a sampler; borrowed
   * @return the loop
   */
  public static RankLoop of(RankContext context, DistributedDataParallel model, DataLoader loader) {
    return new RankLoop(
        requireNonNull(context, "context"),
        requireNonNull(model, "model"),
        requireNonNull(loader, "loader"),
        none -> {},
        1,
        STEPS_BETWEEN_CHECKPOINTS,
        0,
        null,
        null,
        null,
        null);
  }

  /**
   * Returns this loop with a state that is the same on all ranks, for the checkpoints: usually the
   * module and the optimizer. The position of the loader and the buckets of the model are saved in
   * addition.
   *
   * @param parts adds the parts
   * @return the new loop
   */
  public RankLoop withState(Consumer<TrainingState.Builder> parts) {
    requireNonNull(parts, "parts");
    return new RankLoop(
        context, model, loader, parts, epochs, steps, seed, evaluation, options, weight, trace);
  }

  /**
   * Returns this loop with another number of epochs.
   *
   * @param epochs at least 1, the same on all ranks
   * @return the new loop
   * @throws IllegalArgumentException if it is below 1
   */
  public RankLoop withEpochs(long epochs) {
    if (epochs < 1) {
      throw new IllegalArgumentException("epochs must be at least 1, got " + epochs);
    }
    return new RankLoop(
        context, model, loader, state, epochs, steps, seed, evaluation, options, weight, trace);
  }

  /**
   * Returns this loop with another number of steps from checkpoint to checkpoint. There is one at
   * the end of each epoch, too.
   *
   * @param steps at least 1, the same on all ranks
   * @return the new loop
   * @throws IllegalArgumentException if it is below 1
   */
  public RankLoop withCheckpointEvery(long steps) {
    if (steps < 1) {
      throw new IllegalArgumentException("steps must be at least 1, got " + steps);
    }
    return new RankLoop(
        context, model, loader, state, epochs, steps, seed, evaluation, options, weight, trace);
  }

  /**
   * Returns this loop with another seed of the steps; by default 0.
   *
   * @param seed any number
   * @return the new loop
   */
  public RankLoop withSeed(long seed) {
    return new RankLoop(
        context, model, loader, state, epochs, steps, seed, evaluation, options, weight, trace);
  }

  /**
   * Returns this loop with an evaluation, as {@link
   * io.torchfeed.training.TrainingLoopBuilder#evaluation} describes it.
   *
   * @param metric computes the metric
   * @param options its time and its consequences
   * @return the new loop
   */
  public RankLoop withEvaluation(
      Evaluation<? super DistributedDataParallel> metric, EvaluationOptions options) {
    requireNonNull(metric, "metric");
    requireNonNull(options, "options");
    return new RankLoop(
        context, model, loader, state, epochs, steps, seed, metric, options, weight, trace);
  }

  /**
   * Returns this loop with batches that count as much as their weights, as {@link
   * io.torchfeed.training.TrainingLoopBuilder#weight} describes it. The model has the option {@code
   * withWeightedLosses(true)}.
   *
   * @param weight of a batch, at least 0; called before its loss
   * @return the new loop
   */
  public RankLoop withWeight(ToDoubleFunction<Batch> weight) {
    requireNonNull(weight, "weight");
    return new RankLoop(
        context, model, loader, state, epochs, steps, seed, evaluation, options, weight, trace);
  }

  /**
   * Returns this loop with a trace, which is written when the loop ends, and when a rank is lost.
   * No effect in an executor that records one already, by its environment or for another rank.
   *
   * @param options the folder, which all executors can write to
   * @return the new loop
   */
  public RankLoop withTrace(TraceOptions options) {
    requireNonNull(options, "options");
    return new RankLoop(
        context,
        model,
        loader,
        state,
        epochs,
        steps,
        seed,
        evaluation,
        this.options,
        weight,
        options);
  }

  /**
   * Trains all epochs, or those that the last checkpoint has left. After each, the driver gets the
   * figures {@code loss}, the mean over the batches of this rank, not a number if it has none,
   * {@code rows} and {@code seconds}.
   *
   * @param optimizer changes the parameters of the model after each step; borrowed
   * @param loss the forward pass
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost; let it end the task
   * @throws io.torchfeed.checkpoint.CheckpointException if a checkpoint does not fit the state
   * @throws SparkRanksException if the checkpoint is of other rows, or the driver is lost
   * @throws IllegalStateException if no rank has a batch, for example of an empty DataFrame
   */
  public void run(Optimizer optimizer, BatchLoss loss) {
    requireNonNull(optimizer, "optimizer");
    requireNonNull(loss, "loss");
    Figures figures = new Figures();
    try {
      var builder = TrainingLoop.of(context.ranks(), model);
      if (evaluation != null && options != null) {
        builder.evaluation(evaluation, options);
      }
      if (weight != null) {
        builder.weight(weight);
      }
      if (trace != null) {
        builder.trace(trace);
      }
      builder
          .state(
              all -> {
                state.accept(all);
                all.ofEachRank("figures", figures.state());
              })
          .loader(loader)
          .epochs(epochs)
          .seed(seed)
          .checkpointEvery(steps)
          .whenChanged(step -> figures.begin())
          .afterEpoch((trained, step) -> context.report(step.epoch(), figures.end()))
          .build()
          .run(
              (step, trained, batch) -> figures.begun(loss.of(batch), batch.size()),
              () -> {
                optimizer.step();
                figures.done();
              });
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted in a training on Spark", e);
    }
  }

  /** The figures of this rank in an epoch. */
  private static final class Figures {
    private double lossSum;
    private long batches;
    private long rows;
    private long start;
    private @Nullable Tensor loss;
    private int size;

    TrainingState state() {
      return TrainingState.builder()
          .text(
              "loss", () -> Double.toString(lossSum), saved -> lossSum = Double.parseDouble(saved))
          .number("batches", () -> batches, saved -> batches = saved)
          .number("rows", () -> rows, saved -> rows = saved)
          .build();
    }

    /** Begins to measure the time of this attempt. */
    void begin() {
      start = System.nanoTime();
    }

    Tensor begun(Tensor value, int samples) {
      loss = value;
      size = samples;
      return value;
    }

    /** Counts the batch of a step; a rank without one has none to count. */
    void done() {
      if (loss != null) {
        lossSum += loss.item_double();
        batches++;
        rows += size;
        loss = null;
      }
    }

    /** Returns the figures, and begins the next epoch. */
    Map<String, Double> end() {
      double seconds = (System.nanoTime() - start) / 1e9;
      Map<String, Double> all =
          Map.of("loss", lossSum / batches, "rows", (double) rows, "seconds", seconds);
      lossSum = 0;
      batches = 0;
      rows = 0;
      begin();
      return all;
    }
  }
}
