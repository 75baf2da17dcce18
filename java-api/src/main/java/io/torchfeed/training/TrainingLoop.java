// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.distributed.training.SingleModel;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.training.steps.AccumulatedStep;
import io.torchfeed.training.steps.EpochBatches;
import io.torchfeed.training.steps.Peers;
import io.torchfeed.training.steps.PlanAgreement;
import io.torchfeed.training.steps.StepGuard;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

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
 * the same bits as one that was not stopped. For each step the loop clears the gradients, sets the
 * learning rate and the seed of libtorch's generators, runs the forward pass, averages the
 * gradients by the model, and changes the parameters; no collective operation is added, except over
 * a stream: {@link TrainingLoopBuilder#loader(Function)}. The ranks compare their plans once for
 * each epoch.
 *
 * <p>If the ranks are elastic ({@link Ranks#areFixed} is false) and one is lost, the others return
 * to the end of the last step that one of them has completed, copy the state of that rank, divide
 * the rest of the epoch among themselves, and continue in the same processes. So each sample of an
 * epoch is used in exactly one completed step, apart from padding, and the parameters of all ranks
 * are equal bit for bit whenever ranks have changed. Each step then costs a copy of the module's
 * buffers, so that a failed one can be undone. A step is complete when the optimizer has changed
 * the parameters.
 *
 * <p>Of ranks that exchange weights, by {@link ModelAveraging}, all begin with the mean of the
 * weights of those that have trained, and with rank 0's buffers and optimizer, whenever ranks have
 * changed. The weights are also averaged at the end of each epoch, before a checkpoint, and before
 * ranks change as planned. The weights of a rank that is lost are lost, as far as it has not
 * exchanged them; a rank that is a step behind another one then, or more if weights are exchanged
 * less often than in each step, does not make up for it, so that its batches of these steps have no
 * effect. Its algorithm must fit any number of ranks: see {@link
 * io.torchfeed.distributed.training.AveragingAlgorithm#withAllIfOdd}.
 *
 * <p>An exception of the user's code is thrown to the caller of {@link #run}. Not thread-safe: one
 * thread runs it.
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
     *     over the ranks
     */
    Tensor of(Step step, M model, Batch batch);
  }

  /** The end of a training on this rank. */
  public enum Outcome {
    /** All epochs have been completed, and this rank holds the final state. */
    COMPLETED,

    /** The others completed the training before this rank could join them. */
    NOT_NEEDED,

    /**
     * This rank has left as it was asked to; the others continue. If there are none that hold the
     * state, it has saved a checkpoint.
     */
    LEFT
  }

  private final TrainingLoopBuilder<M> options;
  private final Ranks ranks;
  private final Progress progress;
  private final SavedState saved;
  private final LoopModel<M> model;
  private final LoopData data;
  private boolean isRun;
  private boolean isHolder;
  private Peers peers = Peers.of(null);

  TrainingLoop(
      TrainingLoopBuilder<M> options, LoopModel<M> model, SavedState saved, LoopData data) {
    this.options = options;
    this.ranks = options.ranks;
    this.progress = options.progress;
    this.model = model;
    this.saved = saved;
    this.data = data;
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
   * Trains until all epochs are completed. Can be called once.
   *
   * @param loss the forward pass of a batch
   * @param update changes the parameters by their gradients, usually {@code optimizer::step}; with
   *     a {@code GradScaler}, {@code () -> { scaler.step(optimizer); scaler.update(); }}
   * @return how it ended on this rank
   * @throws io.torchfeed.checkpoint.CheckpointException if a checkpoint cannot be saved or loaded
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost, and ranks are fixed
   * @throws IllegalStateException if it was called before; or the loader does not deliver in order;
   *     or this rank's data or options differ from rank 0's; or the ranks have loaded different
   *     checkpoints. Sources of {@link Ranks} have exceptions of their own
   * @throws InterruptedException if this thread is interrupted
   */
  public Outcome run(Loss<? super M> loss, Runnable update) throws InterruptedException {
    requireNonNull(loss, "loss");
    requireNonNull(update, "update");
    if (isRun) {
      throw new IllegalStateException("a training loop can be run once");
    }
    isRun = true;
    try {
      return groups(loss, update);
    } catch (RuntimeException | Error e) {
      if (e instanceof RuntimeException failure && ranks.isLeft(failure)) {
        saved.saveAsLast();
        return Outcome.LEFT;
      }
      ranks.fail(e);
      throw e;
    } finally {
      data.close();
      model.close();
    }
  }

  /**
   * Returns the number of steps that have been completed; in a step, its number from 0 on.
   *
   * @return at least 0, the same on all ranks
   */
  public long step() {
    return progress.step();
  }

  private Outcome groups(Loss<? super M> loss, Runnable update) throws InterruptedException {
    String reason = "";
    while (ranks.next(reason)) {
      try {
        Optional<String> end = together(loss, update);
        if (end.isEmpty()) {
          return Outcome.COMPLETED;
        }
        reason = end.get();
      } finally {
        ranks.leave();
      }
    }
    return Outcome.NOT_NEEDED;
  }

  /** Trains with the current ranks; returns why they end, or nothing if training is complete. */
  private Optional<String> together(Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    try {
      enter();
      boolean mustLeave = ranks.commit(progress.step());
      if (!mustLeave && train(loss, update)) {
        saved.saveAtEnd();
        ranks.finish();
        return Optional.empty();
      }
      Optional<String> broken = ranks.broken();
      if (broken.isEmpty()) {
        model.get().average(); // a rank that leaves takes its weights with it
        peers.barrier().run(); // no rank is still in the last step when another one leaves
      }
      return Optional.of(broken.orElse(""));
    } catch (RuntimeException e) {
      if (!ranks.isBrokenBy(e)) {
        throw e;
      }
      return Optional.of(Failures.describe(e));
    } finally {
      saved.await();
    }
  }

  /** Binds the model to the ranks, and takes the state from a checkpoint or rank 0. */
  private void enter() {
    peers = Peers.of(ranks.group().orElse(null));
    model.bind(ranks, isHolder, saved);
    long[] mine = {isHolder ? 1 : 0, progress.step(), progress.digest()};
    long[][] all =
        peers
            .numbers()
            .gather(
                PlanAgreement.withOptions(
                    mine, options.epochs(), options.accumulate(), options.seed()));
    PlanAgreement.requireSameOptions(all, peers);
    if (ranks.areFixed()) {
      PlanAgreement.requireSameStart(all, 1);
    } else {
      boolean areEqual = Arrays.stream(all).allMatch(each -> Arrays.equals(each, all[0]));
      if (model.get() instanceof ModelAveraging || all[0][0] == 0 || !areEqual) {
        ranks.share(saved.state());
      }
      model.continueAfter(ranks, progress);
    }
    isHolder = true;
    data.take(peers.part());
    saved.begin(ranks.areFixed());
    options.whenChanged.accept(next(progress.epoch()));
  }

  private Step next(long epoch) {
    return new Step(progress.step(), epoch, peers.part().rank(), peers.part().worldSize());
  }

  /** Returns whether all epochs are complete; else the ranks have changed after a step. */
  private boolean train(Loss<? super M> loss, Runnable update) throws InterruptedException {
    try (StepGuard guard = ranks.areFixed() ? null : new StepGuard(model.get().module())) {
      while (progress.epoch() < options.epochs()) {
        try (EpochBatches batches = open()) {
          if (!epoch(guard, batches, loss, update)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  private EpochBatches open() {
    return ranks.haveOwnData()
        ? progress.openOwn(data.loader(), options.accumulate(), peers)
        : progress.open(data.loader(), options.accumulate(), peers);
  }

  /** Returns whether the epoch is complete. */
  private boolean epoch(
      @Nullable StepGuard guard, EpochBatches batches, Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    try {
      while (batches.nextStep()) {
        step(guard, batches, loss, update);
        if (ranks.commit(progress.step())) {
          return false;
        }
      }
      model.get().average();
      options.afterEpoch.accept(model.get(), next(batches.epoch()));
      progress.endEpoch();
    } finally {
      progress.leave();
    }
    saved.saveAfterEpoch();
    return true;
  }

  private void step(
      @Nullable StepGuard guard, EpochBatches batches, Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    M bound = model.get();
    Step step = next(batches.epoch());
    options.setRate(step);
    torch.manual_seed(Hash64.foldAll(options.seed(), step.number(), step.rank()));
    if (guard != null) {
      guard.begin();
    }
    try (PointerScope scope = new PointerScope()) {
      new AccumulatedStep(batch -> loss.of(step, bound, batch), update, options.accumulate())
          .run(bound, batches);
    } catch (RuntimeException e) {
      if (guard != null && ranks.isBrokenBy(e) && guard.completesOrUndoes()) {
        progress.commit(model.exchanges());
        ranks.commit(progress.step());
      }
      throw e;
    }
    progress.commit(model.exchanges());
    try {
      options.afterStep.accept(bound, step);
      saved.saveAfterStep(batches, bound);
    } catch (RuntimeException e) {
      ranks.commit(progress.step()); // the step is complete
      throw e;
    }
  }
}
