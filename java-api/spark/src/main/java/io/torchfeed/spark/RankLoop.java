// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.UnevenInputs;
import io.torchfeed.internal.Hash64;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A training loop of a rank over its own rows: partitions may differ in size, checkpoints are saved
 * after a number of steps, and a repeated stage continues from the last one, so that each row of an
 * epoch is used in exactly one step of those that count.
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

  private RankLoop(
      RankContext context,
      DistributedDataParallel model,
      DataLoader loader,
      Consumer<TrainingState.Builder> state,
      long epochs,
      long steps,
      long seed) {
    this.context = context;
    this.model = model;
    this.loader = loader;
    this.state = state;
    this.epochs = epochs;
    this.steps = steps;
    this.seed = seed;
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
        0);
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
    return new RankLoop(context, model, loader, parts, epochs, steps, seed);
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
    return new RankLoop(context, model, loader, state, epochs, steps, seed);
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
    return new RankLoop(context, model, loader, state, epochs, steps, seed);
  }

  /**
   * Returns this loop with another seed of the steps; by default 0.
   *
   * @param seed any number
   * @return the new loop
   */
  public RankLoop withSeed(long seed) {
    return new RankLoop(context, model, loader, state, epochs, steps, seed);
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
    Run run = new Run(optimizer, loss);
    run.load();
    while (run.epoch < epochs) {
      run.epoch();
    }
  }

  /** The progress of this rank. */
  private final class Run {
    private final Optimizer optimizer;
    private final BatchLoss loss;
    private final TrainingState shared;
    private final TrainingState own;
    private long epoch;
    private long step;
    private String position = "";
    private double lossSum;
    private long batches;
    private long rows;

    Run(Optimizer optimizer, BatchLoss loss) {
      this.optimizer = optimizer;
      this.loss = loss;
      TrainingState.Builder all = TrainingState.builder();
      state.accept(all);
      shared =
          all.number("epoch", () -> epoch, saved -> epoch = saved)
              .number("step", () -> step, saved -> step = saved)
              .build();
      own =
          TrainingState.builder()
              .part("reducer", model)
              .text("position", () -> position, saved -> position = saved)
              .text(
                  "loss",
                  () -> Double.toString(lossSum),
                  saved -> lossSum = Double.parseDouble(saved))
              .number("batches", () -> batches, saved -> batches = saved)
              .number("rows", () -> rows, saved -> rows = saved)
              .build();
    }

    void load() {
      if (context.hasCheckpoints()) {
        context.checkpoints().load(shared, own);
      }
    }

    void epoch() {
      long start = System.nanoTime();
      try (Batches open =
          position.isEmpty()
              ? loader.epoch(epoch)
              : loader.resume(LoaderState.fromJson(position))) {
        long left = loader.batches(epoch) - open.position();
        long most =
            Arrays.stream(context.group().allGatherLongs(new long[] {left}))
                .mapToLong(each -> each[0])
                .max()
                .orElse(0);
        if (most == 0) { // a checkpoint within an epoch leaves batches
          throw new IllegalStateException("no rank has a batch, so there is nothing to train on");
        }
        while (most > 0) {
          long together = Math.min(most, steps - step % steps);
          segment(open, Math.min(left, together));
          left -= Math.min(left, together);
          most -= together;
          step += together;
          if (most > 0) { // else the epoch ends with one
            position = open.state().toJson();
            save();
          }
        }
      }
      double seconds = (System.nanoTime() - start) / 1e9; // of this attempt
      context.report(
          epoch, Map.of("loss", lossSum / batches, "rows", (double) rows, "seconds", seconds));
      epoch++;
      position = "";
      lossSum = 0;
      batches = 0;
      rows = 0;
      save();
    }

    /** Takes steps together; this rank has {@code count} batches for them. */
    private void segment(Batches open, long count) {
      try (UnevenInputs inputs = model.unevenInputs(count)) {
        for (long i = 0; i < count; i++) {
          torch.manual_seed(Hash64.foldAll(seed, step + i, context.rank()));
          train(open.next());
        }
        inputs.shadow(optimizer::step);
      }
    }

    private void train(Batch batch) {
      try (PointerScope scope = new PointerScope()) {
        optimizer.zero_grad();
        Tensor value = loss.of(batch);
        model.backward(value);
        optimizer.step();
        lossSum += value.item_double();
        batches++;
        rows += batch.size();
      }
    }

    private void save() {
      if (context.hasCheckpoints()) {
        context.checkpoints().save(step, shared, own);
      }
    }
  }
}
