// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.distributed.training.SingleModel;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.TerminationSignal;
import java.util.Arrays;
import java.util.function.Function;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A training loop that keeps epochs, steps and checkpoints, on one process or several.
 *
 * <pre>{@code
 * try (Checkpoints checkpoints = Checkpoints.open(root)) {
 *   TrainingLoop.over(Ranks.of(group), ranks -> DistributedDataParallel.wrap(net, ranks))
 *       .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
 *       .loader(
 *           part ->
 *               DataLoader.over(dataset)
 *                   .sampler(ShuffledSampler.of(dataset.size(), part, 42))
 *                   .batchSize(64)
 *                   .build())
 *       .epochs(3)
 *       .checkpoints(checkpoints, 500)
 *       .build()
 *       .run((step, model, batch) -> loss(batch), optimizer::step);
 * }
 * }</pre>
 *
 * <p>A run continues from the last checkpoint, in the middle of an epoch if need be, and ends with
 * the same bits as one that was not stopped, if data, code and options are the same: other options
 * that may change are {@linkplain LoopEvent.Kind#CHANGED reported}. For each step the loop clears
 * the gradients, sets the learning rate and the seed of libtorch's generators, runs the forward
 * pass, averages the gradients by the model, and changes the parameters; no collective operation is
 * added, except over a stream: {@link TrainingLoopBuilder#loader(Function)}. The ranks compare
 * their plans once for each epoch.
 *
 * <p>If the ranks are elastic ({@link Ranks#areFixed} is false) and one is lost, the others return
 * to the end of the last step that one of them has completed, copy the state of that rank, divide
 * the rest of the epoch among themselves, and continue in the same processes. So each sample of an
 * epoch is used in exactly one completed step, apart from padding, and the parameters of all ranks
 * are equal bit for bit whenever ranks have changed. Each step then costs a copy of the module's
 * buffers, so that a failed one can be undone. A step is complete when the optimizer has changed
 * the parameters.
 *
 * <p>Of ranks that exchange weights, by {@link io.torchfeed.distributed.training.ModelAveraging},
 * all begin with the mean of the weights of those that have trained, and with rank 0's buffers and
 * optimizer, whenever ranks have changed. The weights are also averaged at the end of each epoch,
 * before a checkpoint, and before ranks change as planned. The weights of a rank that is lost are
 * lost, as far as it has not exchanged them; a rank that is a step behind another one then, or more
 * if weights are exchanged less often than in each step, does not make up for it, so that its
 * batches of these steps have no effect. Its algorithm must fit any number of ranks: see {@link
 * io.torchfeed.distributed.training.AveragingAlgorithm#withAllIfOdd}.
 *
 * <p>An exception of the user's code is thrown to the caller of {@link #run}. Not thread-safe,
 * except {@link #requestStop}: one thread runs it.
 *
 * @param <M> the model
 */
public final class TrainingLoop<M extends ReplicatedModel> {
  /**
   * The forward pass of a batch.
   *
   * @param <M> the model
   */
  @FunctionalInterface
  public interface Loss<M> {
    /**
     * Computes the loss. Tensors that are made here are freed at the end of the step. Operations of
     * the group may follow, the same on all ranks.
     *
     * @param step which step of the training it is
     * @param model the model, bound to the current ranks
     * @param batch valid until the end of the call
     * @return a single number; the gradients of a step are the sum over its batches and the mean
     *     over the ranks. With {@link TrainingLoopBuilder#weight}, the mean over the counted tokens
     *     or samples of the batch; the gradients are then weighted means
     */
    Tensor of(Step step, M model, Batch batch);
  }

  /**
   * A metric of the model, for example of a validation set.
   *
   * @param <M> the model
   */
  @FunctionalInterface
  public interface Evaluation<M> {
    /**
     * Computes the metric. Tensors that are made here are freed at its end. Operations of the group
     * may follow, the same on all ranks. Not in a step: a {@code NoGradGuard} and {@code eval()}
     * are up to this method, and {@code train(true)} after it.
     *
     * @param model the model, bound to the current ranks
     * @param step the steps completed, the epoch and this rank
     * @return the metric, which counts of rank 0; NaN of other ranks if they compute none
     */
    double of(M model, Step step);
  }

  /** The end of a training on this rank. */
  public enum Outcome {
    /**
     * All epochs or the most steps have been completed, and this rank holds the final state;
     * perhaps from a checkpoint, so that no step was left.
     */
    COMPLETED,

    /**
     * All ranks have stopped after the same step, since the metric of {@link
     * TrainingLoopBuilder#evaluation} was no longer getting better, and saved a checkpoint.
     */
    STOPPED_EARLY,

    /**
     * All ranks have stopped after the same step, as one was asked to or its time was over, and
     * saved a checkpoint.
     */
    STOPPED,

    /** The others completed the training before this rank could join them. */
    NOT_NEEDED,

    /**
     * This rank has left as it was asked to; the others continue. If there are none that hold the
     * state, it has saved a checkpoint.
     */
    LEFT
  }

  private final Ranks ranks;
  private final Progress progress;
  private final PlannedStop stop;
  private final LoopRun<M> run;
  private boolean isRun;

  TrainingLoop(LoopSettings<M> options, LoopModel<M> model, SavedState saved, LoopData data) {
    ranks = options.ranks;
    progress = options.progress;
    stop = new PlannedStop();
    run = new LoopRun<>(options, model, saved, data, stop);
  }

  /**
   * Starts to describe a training by this process alone.
   *
   * @param module borrowed
   * @return a builder
   */
  public static TrainingLoopBuilder<SingleModel> alone(Module module) {
    return of(new FixedRanks(null), SingleModel.wrap(requireNonNull(module, "module")));
  }

  /**
   * Starts to describe a training by ranks that stay the same.
   *
   * @param <M> the type of the model
   * @param ranks borrowed
   * @param model bound to these ranks; borrowed
   * @return a builder
   * @throws IllegalArgumentException if the ranks are elastic: those need {@link #over}
   */
  public static <M extends ReplicatedModel> TrainingLoopBuilder<M> of(Ranks ranks, M model) {
    requireNonNull(model, "model");
    if (!requireNonNull(ranks, "ranks").areFixed()) {
      throw new IllegalArgumentException(
          "elastic ranks need a function that wraps the module: over(ranks, group -> ...)");
    }
    return new TrainingLoopBuilder<>(ranks, LoopModel.borrowed(model));
  }

  /**
   * Starts to describe a training.
   *
   * @param <M> the type of the model
   * @param ranks borrowed
   * @param wrap wraps the module for the first group of this rank; the model is closed at the end.
   *     If the ranks are elastic it is rebound to the groups that follow, or wrapped again
   * @return a builder
   */
  public static <M extends ReplicatedModel> TrainingLoopBuilder<M> over(
      Ranks ranks, Function<ProcessGroup, M> wrap) {
    requireNonNull(ranks, "ranks");
    return new TrainingLoopBuilder<>(ranks, LoopModel.wrapped(requireNonNull(wrap, "wrap")));
  }

  /**
   * Trains until all epochs are completed, or a limit is reached. Can be called once. If a
   * checkpoint has them all, it takes no step, and {@linkplain TrainingLoopBuilder#events reports}
   * that.
   *
   * @param loss the forward pass of a batch
   * @param update changes the parameters by their gradients, usually {@code optimizer::step}; with
   *     a {@code GradScaler}, {@code () -> { scaler.step(optimizer); scaler.update(); }}
   * @return how it ended on this rank
   * @throws io.torchfeed.checkpoint.CheckpointException if a checkpoint cannot be saved or loaded
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost, and ranks are fixed
   * @throws IllegalStateException if it was called before; or the loader does not deliver in order;
   *     or an epoch has no batch; or this rank's data or options differ from rank 0's; or the ranks
   *     have loaded different checkpoints. Sources of {@link Ranks} have exceptions of their own
   * @throws io.torchfeed.sampler.ResumeMismatchException if the checkpoint, which it names, is of
   *     another order of samples: by the parameters of the sampler, such as its size, seed, labels
   *     or list, or of the stream. Values of rows are not compared
   * @throws InterruptedException if this thread is interrupted
   */
  public Outcome run(Loss<? super M> loss, Runnable update) throws InterruptedException {
    requireNonNull(loss, "loss");
    requireNonNull(update, "update");
    if (isRun) {
      throw new IllegalStateException("a training loop can be run once");
    }
    isRun = true;
    return run.with(loss, update);
  }

  /**
   * Asks for the end of the training after the step in progress, or in a group at most one step
   * later. All ranks of a group stop after the same step; {@link #run} saves a checkpoint and
   * returns {@link Outcome#STOPPED}. A run after it continues with the same bits. It is enough if
   * one rank calls this, also more than once, from any thread; with no effect once the steps are
   * complete. Elastic ranks continue without this one, which {@linkplain Outcome#LEFT leaves}.
   */
  public void requestStop() {
    if (ranks.areFixed()) {
      stop.request();
    } else {
      ranks.requestLeave();
    }
  }

  /**
   * Makes SIGTERM and SIGINT {@linkplain #requestStop ask for a stop} instead of ending this
   * process. A second signal of the same kind ends it as usual.
   *
   * @param others names of more such signals without SIG, for example {@code USR1} as the warning
   *     of a cluster before the time of a job is over
   * @throws IllegalStateException if the JVM does not allow it, for example with {@code -Xrs}, or
   *     for a signal that the JVM uses itself
   */
  public void stopOnTermination(String... others) {
    requireNonNull(others, "others");
    TerminationSignal.handle(Checks.copyOf("others", Arrays.asList(others)), this::requestStop);
  }

  /**
   * Returns the number of steps of this run that changed nothing, since a gradient was not finite;
   * see {@link TrainingLoopBuilder#skipNonFinite}.
   *
   * @return at least 0, the same on all ranks that have taken them
   */
  public long skippedSteps() {
    return run.skippedSteps();
  }

  /**
   * Returns the number of steps that have been completed; in a step, its number from 0 on.
   *
   * @return at least 0, the same on all ranks
   */
  public long step() {
    return progress.step();
  }
}
