// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.Part;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A training loop that continues while ranks come and go.
 *
 * <pre>{@code
 * try (Membership membership = Membership.join(host, port, "job", name)) {
 *   ElasticTraining.builder(membership, group -> DistributedDataParallel.wrap(net, group))
 *       .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
 *       .loader(
 *           part ->
 *               DataLoader.over(data)
 *                   .sampler(ShuffledSampler.of(data.size(), part, 42))
 *                   .batchSize(256 / part.worldSize())
 *                   .build())
 *       .epochs(3)
 *       .build()
 *       .run(
 *           (model, batch) -> {
 *             optimizer.zero_grad();
 *             model.backward(loss(batch));
 *             optimizer.step();
 *           });
 * }
 * }</pre>
 *
 * <p>When a rank is lost, the others return to the end of the last step that one of them has
 * completed, copy the state of that rank, divide the rest of the epoch among themselves, and
 * continue in the same processes. A new rank joins between two steps and gets the state of rank 0;
 * {@link Membership#requestLeave} releases a rank after its step. So each sample of an epoch is
 * used in exactly one completed step, apart from padding, and the parameters of all ranks are equal
 * bit for bit at the start of each world.
 *
 * <p>A step is complete when the optimizer has changed the parameters. Each step costs a copy of
 * the module's buffers, so that a failed one can be undone, and sets the seed of libtorch's
 * generators; no collective is added to it, except over a stream: {@link
 * ElasticTrainingBuilder#loader}. The ranks compare their plans at the start of each world and
 * epoch; one that differs from rank 0 fails, and the others continue.
 *
 * <p>An exception of the user's code is thrown to the caller of {@link #run}, and the other ranks
 * continue without this one. Not thread-safe: one thread runs it.
 */
public final class ElasticTraining {
  /** A training step of the user. */
  @FunctionalInterface
  public interface Step {
    /**
     * Trains with a batch: averages gradients by the model, not by {@code loss.backward()}, whose
     * failures have no type, and changes the parameters once. Other operations of the group come
     * before the optimizer's step. Tensors that are made here are freed at the end.
     *
     * @param model the model, bound to the ranks of this world
     * @param batch valid until the end of the step
     */
    void run(DistributedDataParallel model, Batch batch);
  }

  /** The loss of a batch. */
  @FunctionalInterface
  public interface Loss {
    /**
     * Runs the forward pass.
     *
     * @param batch valid until the end of the call
     * @return a single number; freed at the end of the step
     */
    Tensor of(Batch batch);
  }

  /** The end of a training on this rank. */
  public enum Outcome {
    /** All epochs have been completed, and this rank holds the final state. */
    COMPLETED,

    /** The others completed the training before this rank could join them. */
    NOT_NEEDED,

    /**
     * This rank has left as it requested; the others continue. If there are none that hold the
     * state, it has saved a checkpoint.
     */
    LEFT
  }

  private final ElasticTrainingBuilder options;
  private final Membership membership;
  private final Progress progress;
  private final TrainingState state;
  private final Function<Part, DataLoader> loaders;
  private final SavedStates saved;
  private boolean isRun;
  private boolean isHolder;
  private @Nullable ReplicatedModel model;
  private @Nullable DataLoader loader;
  private @Nullable Part part;

  ElasticTraining(
      ElasticTrainingBuilder options, TrainingState state, Function<Part, DataLoader> loaders) {
    this.options = options;
    this.membership = options.membership;
    this.progress = options.progress;
    this.state = state;
    this.loaders = loaders;
    this.saved = new SavedStates(options, state);
  }

  /**
   * Starts to describe a training.
   *
   * @param membership this process's place in the job; borrowed
   * @param wrap wraps the module for the first group of this rank; the model is closed at the end,
   *     and rebound to the groups that follow
   * @return a builder
   */
  public static ElasticTrainingBuilder builder(
      Membership membership, Function<ProcessGroup, DistributedDataParallel> wrap) {
    return new ElasticTrainingBuilder(membership, wrap, false);
  }

  /**
   * Starts to describe a training whose ranks exchange weights instead of gradients.
   *
   * <p>In each world all ranks begin with the mean of the weights of those that have trained, and
   * with rank 0's buffers and optimizer. The weights are also averaged at the end of each epoch,
   * before a checkpoint, and before a world that ends as planned. The weights of a rank that is
   * lost are lost, as far as it has not exchanged them; a rank that is a step behind another one
   * when the world breaks, or more if weights are exchanged less often than in each step, does not
   * make up for it, so that its batches of these steps have no effect.
   *
   * @param membership this process's place in the job; borrowed
   * @param wrap wraps the module for a group; the model is closed at the end, and rebound or
   *     wrapped again for the groups that follow. Its algorithm must fit any number of ranks: see
   *     {@link io.torchfeed.distributed.training.AveragingAlgorithm#withAllIfOdd}
   * @return a builder, for {@link #run(Loss, Runnable)}
   */
  public static ElasticTrainingBuilder averaging(
      Membership membership, Function<ProcessGroup, ModelAveraging> wrap) {
    return new ElasticTrainingBuilder(membership, wrap, true);
  }

  /**
   * Trains until all epochs are completed. Can be called once.
   *
   * @param step called for each batch
   * @return how it ended on this rank
   * @throws StateLostException if all ranks that held the state are lost, and there is no
   *     checkpoint
   * @throws MembershipEndedException if this process can no longer take part
   * @throws io.torchfeed.checkpoint.CheckpointException if a checkpoint cannot be saved or loaded
   * @throws IllegalStateException if it was called before; or the loader is over a stream, or does
   *     not deliver in order; or this rank's data or options differ from rank 0's; or a generation
   *     is run again with another number of ranks than it had; or this training is one by {@link
   *     #averaging}, or accumulates gradients
   * @throws InterruptedException if this thread is interrupted
   */
  public Outcome run(Step step) throws InterruptedException {
    requireNonNull(step, "step");
    if (options.isAveraging || options.accumulate > 1) {
      throw new IllegalStateException(
          "a training that averages weights or accumulates gradients needs run(loss, update)");
    }
    return train((bound, pass) -> step.run((DistributedDataParallel) bound, pass.nextOfAll()));
  }

  /**
   * Trains like {@link #run(Step)}, with any model and data: this method clears the gradients, and
   * adds them up over as many batches as {@link ElasticTrainingBuilder#accumulate} says.
   *
   * @param loss of each batch; the gradients of a step are the sum over its batches and the mean
   *     over the ranks
   * @param update changes the parameters by their gradients, usually {@code optimizer::step}
   * @return how it ended on this rank
   * @throws InterruptedException if this thread is interrupted; other failures are as in {@link
   *     #run(Step)}
   */
  public Outcome run(Loss loss, Runnable update) throws InterruptedException {
    requireNonNull(loss, "loss");
    requireNonNull(update, "update");
    return train(new AccumulatedStep(loss, update, options.accumulate)::run);
  }

  private Outcome train(BatchWork work) throws InterruptedException {
    if (isRun) {
      throw new IllegalStateException("an elastic training can be run once");
    }
    isRun = true;
    try {
      return generations(work);
    } catch (MembershipEndedException e) {
      if (e.reason() == Reason.LEFT) {
        saved.saveIfLast(e);
        return Outcome.LEFT;
      }
      throw e;
    } catch (RuntimeException | Error e) {
      membership.fail(Failures.describe(e));
      throw e;
    } finally {
      closeLoader();
      closeModel();
    }
  }

  private void closeModel() {
    if (model != null) {
      model.close();
      model = null;
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

  private Outcome generations(BatchWork work) throws InterruptedException {
    String reason = "";
    while (true) {
      Optional<ElasticGroup> next = ElasticGroup.next(membership, options.group, reason);
      if (next.isEmpty()) {
        return Outcome.NOT_NEEDED;
      }
      try (ElasticGroup ranks = next.get()) {
        Optional<String> end = generation(ranks, work);
        if (end.isEmpty()) {
          return Outcome.COMPLETED;
        }
        reason = end.get();
      }
    }
  }

  /** Trains in one world; returns why it has ended, or nothing if the training is complete. */
  private Optional<String> generation(ElasticGroup ranks, BatchWork work)
      throws InterruptedException {
    try {
      enter(ranks);
      boolean mustLeave = membership.commit(progress.step());
      if (!mustLeave && train(ranks, work)) {
        saved.saveAtEnd(ranks.world());
        membership.finish();
        return Optional.empty();
      }
      Optional<String> broken = membership.broken();
      if (broken.isEmpty()) {
        requireNonNull(model).average(); // a rank that leaves takes its weights with it
        ranks.group().barrier(); // no rank is still in the last step when another one leaves
      }
      return Optional.of(broken.orElse(""));
    } catch (RuntimeException e) {
      if (e instanceof MembershipEndedException || !ranks.isBrokenBy(e)) {
        throw e;
      }
      return Optional.of(Failures.describe(e));
    } finally {
      saved.await();
    }
  }

  /** Binds the model to the group, and takes the state from rank 0. */
  private void enter(ElasticGroup ranks) {
    World world = ranks.world();
    ProcessGroup group = ranks.group();
    saved.requirePossible(world);
    bind(world, group);
    long[] mine = {isHolder ? 1 : 0, progress.step(), progress.digest()};
    long[][] all =
        group.allGatherLongs(
            PlanAgreement.withOptions(mine, options.epochs, options.accumulate, options.seed));
    PlanAgreement.requireSameOptions(all, group);
    boolean areEqual = Arrays.stream(all).allMatch(each -> Arrays.equals(each, all[0]));
    if (options.isAveraging || all[0][0] == 0 || !areEqual) {
      StateTransfer.broadcast(state, group, 0);
    }
    if (model instanceof ModelAveraging averaging && world.origin() != World.Origin.RANK_ZERO) {
      averaging.continueAfter(progress.step(), progress.exchanges());
    }
    isHolder = true;
    if (!group.part().equals(part)) {
      closeLoader();
      part = group.part();
      loader = requireNonNull(loaders.apply(part), "the loader of a part");
    }
    saved.note(world);
    options.whenChanged.accept(world);
  }

  /** Binds the model to the group; rank 0 loads the state if no rank holds it. */
  private void bind(World world, ProcessGroup group) {
    boolean mustLoad = world.origin() != World.Origin.RANK_ZERO;
    boolean isLoading = mustLoad && world.rank() == 0;
    if (options.isAveraging && (mustLoad || !isHolder)) {
      closeModel(); // by rebinding, this rank would give its weights to the mean
    }
    if (options.isAveraging && isLoading) {
      saved.load(world.origin()); // the exchange begins with the weights that it finds
    }
    if (model == null) {
      model = options.wrap.apply(group);
    } else {
      model.rebind(group);
    }
    if (!options.isAveraging && isLoading) {
      saved.load(world.origin());
    }
  }

  /** Returns whether all epochs are complete; else the world has changed after a step. */
  private boolean train(ElasticGroup ranks, BatchWork work) throws InterruptedException {
    try (StepGuard guard = new StepGuard(requireNonNull(model).module())) {
      while (progress.epoch() < options.epochs) {
        try (EpochBatches batches =
            progress.open(requireNonNull(loader), options.accumulate, ranks.group())) {
          if (!train(ranks, guard, work, batches)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /** Returns whether the epoch is complete. */
  private boolean train(ElasticGroup ranks, StepGuard guard, BatchWork work, EpochBatches batches)
      throws InterruptedException {
    try {
      while (batches.nextStep()) {
        run(ranks, guard, work, batches);
        saved.saveAfterStep(ranks.world(), requireNonNull(model), membership);
        if (membership.commit(progress.step())) {
          return false;
        }
      }
      requireNonNull(model).average();
      options.afterEpoch.accept(requireNonNull(model), batches.epoch());
      progress.endEpoch();
      return true;
    } finally {
      progress.leave();
    }
  }

  private void run(ElasticGroup ranks, StepGuard guard, BatchWork work, EpochBatches batches)
      throws InterruptedException {
    long rank = ranks.group().rank();
    torch.manual_seed(Hash64.foldAll(options.seed, progress.step(), rank));
    guard.begin();
    try (PointerScope scope = new PointerScope()) {
      work.run(requireNonNull(model), batches);
    } catch (RuntimeException e) {
      if (ranks.isBrokenBy(e) && guard.completesOrUndoes()) {
        progress.commit(exchanges());
        membership.commit(progress.step());
      }
      throw e;
    }
    progress.commit(exchanges());
  }

  private long exchanges() {
    return model instanceof ModelAveraging averaging ? averaging.exchanges() : 0;
  }

  private void closeLoader() {
    if (loader != null) {
      loader.close();
      loader = null;
      part = null;
    }
  }
}
