// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.sampler.Part;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.TrainingLoop.Evaluation;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The options of a {@link TrainingLoop}; {@link #state} and {@link #loader(Function)} are required.
 * All ranks have the same; each is set at most once. Not thread-safe.
 *
 * @param <M> the model
 */
public final class TrainingLoopBuilder<M extends ReplicatedModel> {
  final LoopSettings<M> settings;
  private final LoopModel<M> model;
  private @Nullable TrainingState state;
  private @Nullable LoopData data;
  private @Nullable Checkpoints checkpoints;
  private @Nullable Long everySteps;

  TrainingLoopBuilder(Ranks ranks, LoopModel<M> model) {
    settings = new LoopSettings<>(ranks);
    this.model = model;
  }

  /**
   * Sets the state that checkpoints have and that ranks copy from each other: the module, the
   * optimizer, and all else that steps change. The progress of the loop is added, and if ranks are
   * fixed, the state of the model on each of them, such as its buckets.
   *
   * @param parts adds the parts; the names {@code progress} and {@code replica} are taken
   * @return this builder
   * @throws IllegalArgumentException if ranks are elastic and a part is added by {@link
   *     TrainingState.Builder#ofEachRank}: a rank that is lost takes its own with it
   */
  public TrainingLoopBuilder<M> state(Consumer<TrainingState.Builder> parts) {
    requireNonNull(parts, "parts");
    Once.requireUnset("state", state);
    TrainingState.Builder builder = TrainingState.builder().metric(settings.progress::metric);
    parts.accept(builder);
    if (settings.ranks.haveOwnData()) {
      builder.ofEachRank("progress", settings.progress);
    } else {
      builder.part("progress", settings.progress);
    }
    if (settings.ranks.areFixed()) {
      builder.ofEachRank("replica", model);
    }
    TrainingState built = builder.build();
    if (!settings.ranks.areFixed() && !built.namesOfEachRank().isEmpty()) {
      throw new IllegalArgumentException(
          "elastic ranks all have the same state, got parts of each rank: "
              + String.join(", ", built.namesOfEachRank()));
    }
    state = built;
    return this;
  }

  /**
   * Sets the data: a dataset with indices, delivered in order, or a stream.
   *
   * <p>Over a stream, a rank that has used all batches of its shards takes part in the others'
   * steps with gradients of 0, so that each batch has the same weight. As a rank that is lost takes
   * its positions with it, the ranks gather all positions before each step: one more operation of
   * the group, of some bytes for each shard. With {@link #accumulate} all batches of a step are in
   * memory. There are at least as many shards as ranks.
   *
   * @param loader opens the loader of a rank, which is closed at the end. If the ranks are elastic
   *     it is called when the number of ranks or the rank changes, after the loader before has been
   *     closed. Its plan or dataset is the same but for the part, and with indices the epochs of
   *     all ranks have equally many batches
   * @return this builder
   */
  public TrainingLoopBuilder<M> loader(Function<Part, DataLoader> loader) {
    requireNonNull(loader, "loader");
    data = Once.set("loader", data, LoopData.opened(loader));
    return this;
  }

  /**
   * Sets the data of a rank that stays, as {@link #loader(Function)} does.
   *
   * @param loader of this rank; borrowed
   * @return this builder
   * @throws IllegalArgumentException if ranks are elastic
   */
  public TrainingLoopBuilder<M> loader(DataLoader loader) {
    requireNonNull(loader, "loader");
    if (!settings.ranks.areFixed()) {
      throw new IllegalArgumentException(
          "elastic ranks need a function that opens the loader of a part");
    }
    data = Once.set("loader", data, LoopData.borrowed(loader));
    return this;
  }

  /**
   * Sets the number of epochs; by default 1 or, with {@link #maxSteps}, as many as it takes.
   *
   * @param epochs at least 1
   * @return this builder
   */
  public TrainingLoopBuilder<M> epochs(long epochs) {
    if (epochs < 1) {
      throw new IllegalArgumentException("epochs must be at least 1, got " + epochs);
    }
    settings.epochs = Once.set("epochs", settings.epochs, epochs);
    return this;
  }

  /**
   * Sets the most steps of the training, with the steps of earlier runs. It is {@linkplain
   * TrainingLoop.Outcome#COMPLETED complete} then, also in the middle of an epoch, where an {@link
   * #evaluation} follows.
   *
   * @param steps at least 1
   * @return this builder
   */
  public TrainingLoopBuilder<M> maxSteps(long steps) {
    if (steps < 1) {
      throw new IllegalArgumentException("maxSteps must be at least 1, got " + steps);
    }
    settings.maxSteps = Once.set("maxSteps", settings.maxSteps, steps);
    return this;
  }

  /**
   * Sets the most time of a run, as a cluster does for a job. The first rank whose time is over
   * {@linkplain TrainingLoop#requestStop asks for a stop}: all ranks, elastic ones too, end with
   * {@link TrainingLoop.Outcome#STOPPED} after the same step, and the next run continues from
   * there. Allow for the last step, and for the time of a checkpoint.
   *
   * @param limit from the call of {@code run}, with the wait for ranks; a rank that joins later
   *     continues from the time of the others; at least 1 ms
   * @return this builder
   */
  public TrainingLoopBuilder<M> maxTime(Duration limit) {
    settings.maxTime =
        Once.set("maxTime", settings.maxTime, TimeLimit.atLeastOneMilli("limit", limit));
    return this;
  }

  /**
   * Sets an evaluation of the model, by default at the end of each epoch, after {@link
   * #afterEpoch}, and where {@link #maxSteps} ends the training within an epoch. All ranks run it
   * together, and the value of rank 0 counts on all: a metric that is computed there alone need not
   * be sent, and one that differs in the last bit, as on devices of two kinds, cannot part the
   * ranks. This costs one operation of the group, of 8 bytes. The {@link LoopEvent} names the ranks
   * with other values, which have perhaps not been reduced.
   *
   * <p>A checkpoint follows each evaluation and has its metric, unless that is NaN, and the best
   * one is {@linkplain io.torchfeed.checkpoint.CheckpointOptions#withKeptBest kept}. The results
   * are saved with the progress: a training that is resumed stops early where one without a stop
   * does. They are compared with later ones even if those are of another validation set.
   *
   * @param metric computes the metric
   * @param options its time and its consequences
   * @return this builder
   */
  public TrainingLoopBuilder<M> evaluation(
      Evaluation<? super M> metric, EvaluationOptions options) {
    requireNonNull(metric, "metric");
    requireNonNull(options, "options");
    settings.evaluation = Once.set("evaluation", settings.evaluation, metric);
    settings.evaluate(options);
    return this;
  }

  /**
   * Sets the number of batches whose gradients are added up for each step, 1 by default. The last
   * step of an epoch may have fewer. A step that fails is repeated with all its batches.
   *
   * @param batches at least 1, the same on all ranks
   * @return this builder
   */
  public TrainingLoopBuilder<M> accumulate(int batches) {
    if (batches < 1) {
      throw new IllegalArgumentException("batches must be at least 1, got " + batches);
    }
    settings.accumulate = Once.set("accumulate", settings.accumulate, batches);
    return this;
  }

  /**
   * Sets how much a batch counts, for example its number of samples or of tokens that are not
   * padding. A step then has the gradients of the joint batch, however its tokens are divided among
   * ranks and batches; see {@link ReplicatedModel#step(java.util.function.Supplier, double,
   * Runnable)}. Without it, each rank and each batch counts the same. A {@code
   * DistributedDataParallel} needs the option {@code withWeightedLosses(true)}.
   *
   * @param weight of a batch, at least 0; called before its loss
   * @return this builder
   */
  public TrainingLoopBuilder<M> weight(ToDoubleFunction<Batch> weight) {
    settings.weight = Once.set("weight", settings.weight, requireNonNull(weight, "weight"));
    return this;
  }

  /**
   * Lets a step change nothing if a gradient is infinite or NaN on any rank, as a {@code
   * GradScaler} does. All ranks see the same averaged gradients, which costs no operation of the
   * group. Such a step counts as one and {@linkplain LoopEvent.Kind#NOT_FINITE is reported};
   * buffers keep the values of the forward pass. Not for {@code ModelAveraging}, whose gradients
   * are each rank's own.
   *
   * @return this builder
   */
  public TrainingLoopBuilder<M> skipNonFinite() {
    settings.skipNonFinite = Once.set("skipNonFinite", settings.skipNonFinite, true);
    return this;
  }

  /**
   * Sets the seed of libtorch's generators, which each step sets to a mix of this number, the step
   * and the rank, so that a step that is repeated draws the same; 0 by default.
   *
   * @param seed any number
   * @return this builder
   */
  public TrainingLoopBuilder<M> seed(long seed) {
    settings.seed = Once.set("seed", settings.seed, seed);
    return this;
  }

  /**
   * Sets checkpoints, which are saved in the background after a number of steps, and at the end of
   * each epoch. The training continues from the last one when it is started again, or if all ranks
   * that held the state are lost.
   *
   * @param checkpoints of a folder that all ranks can reach; borrowed
   * @param everySteps the number of steps from one to the next, at least 1
   * @return this builder
   */
  public TrainingLoopBuilder<M> checkpoints(Checkpoints checkpoints, long everySteps) {
    this.checkpoints =
        Once.set("checkpoints", this.checkpoints, requireNonNull(checkpoints, "checkpoints"));
    return checkpointEvery(everySteps);
  }

  /**
   * Sets the interval of checkpoints if the ranks have a place for them, as Spark's have. Without
   * it, they save the state at the end of each epoch.
   *
   * @param steps the number of steps from one to the next, at least 1
   * @return this builder
   */
  public TrainingLoopBuilder<M> checkpointEvery(long steps) {
    if (steps < 1) {
      throw new IllegalArgumentException(
          "the steps between checkpoints must be at least 1, got " + steps);
    }
    everySteps = Once.set("checkpointEvery", everySteps, steps);
    return this;
  }

  /**
   * Sets the learning rate of each step before it.
   *
   * @param rate of the optimizer; borrowed
   * @return this builder
   * @throws IllegalStateException if it is set already
   */
  public TrainingLoopBuilder<M> learningRate(LearningRate rate) {
    settings.rate = Once.set("learningRate", settings.rate, requireNonNull(rate, "rate"));
    return this;
  }

  /**
   * Sets an action for when ranks have changed. It runs for each set of ranks, also the first, on
   * all of them once they hold the state.
   *
   * @param action receives the step that follows, with the rank and their number
   * @return this builder
   */
  public TrainingLoopBuilder<M> whenChanged(Consumer<Step> action) {
    settings.whenChanged = requireNonNull(action, "action");
    return this;
  }

  /**
   * Sets an action for the end of each step, once it counts.
   *
   * @param action receives the model and the step
   * @return this builder
   */
  public TrainingLoopBuilder<M> afterStep(BiConsumer<M, Step> action) {
    settings.afterStep = requireNonNull(action, "action");
    return this;
  }

  /**
   * Sets an action for the end of each epoch, for example an evaluation. It may use the group; if a
   * rank is lost meanwhile and others continue, it runs again.
   *
   * @param action receives the model and, as a step, the steps completed, the epoch and this rank
   * @return this builder
   */
  public TrainingLoopBuilder<M> afterEpoch(BiConsumer<M, Step> action) {
    settings.afterEpoch = requireNonNull(action, "action");
    return this;
  }

  /**
   * Sets a receiver of the events of this rank. Without it, they are logged by the {@link
   * System.Logger} {@code io.torchfeed.training}: checkpoints that were skipped as warnings, the
   * other ones by rank 0, steps that were skipped as warnings.
   *
   * @param receiver called in the thread that runs the loop
   * @return this builder
   */
  public TrainingLoopBuilder<M> events(Consumer<LoopEvent> receiver) {
    settings.events = Once.set("events", settings.events, requireNonNull(receiver, "receiver"));
    return this;
  }

  /**
   * Sets a receiver of the figures of each step, such as a {@link ProgressLine}, or curves for
   * TensorBoard by {@link LoopMonitor#curves}. Ranks may have different ones.
   *
   * @param monitor of this rank; borrowed
   * @return this builder
   */
  public TrainingLoopBuilder<M> monitor(LoopMonitor monitor) {
    settings.monitor = Once.set("monitor", settings.monitor, requireNonNull(monitor, "monitor"));
    return this;
  }

  /**
   * Records a trace of this rank while the loop runs, and dumps it at its end and when a rank is
   * lost; see {@link io.torchfeed.trace.Trace}. No effect in a process that records one already,
   * for example since its environment says so.
   *
   * @param options the folder of dumps, and the events to keep
   * @return this builder
   */
  public TrainingLoopBuilder<M> trace(TraceOptions options) {
    settings.trace = Once.set("trace", settings.trace, requireNonNull(options, "options"));
    return this;
  }

  /**
   * Returns the training.
   *
   * @return a training that has not been run
   * @throws IllegalStateException if the state or the loader is not set
   */
  public TrainingLoop<M> build() {
    if (state == null || data == null) {
      throw new IllegalStateException("a training loop needs a state and a loader");
    }
    long every = everySteps == null ? Long.MAX_VALUE : everySteps;
    SavedState saved =
        new SavedState(settings.ranks.store(checkpoints), every, settings.progress, state);
    return new TrainingLoop<>(settings, model, saved, data);
  }
}
