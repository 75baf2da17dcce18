// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.Part;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
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
 * continue in the same processes. A rank that comes takes part from the end of a step on, with the
 * state of rank 0; {@link Membership#requestLeave} lets one go at the end of a step. So each sample
 * of an epoch is used in exactly one completed step, apart from padding, and the parameters of all
 * ranks are equal bit for bit at the start of each world.
 *
 * <p>A step is complete when the optimizer has changed the parameters. Each step costs a copy of
 * the module's buffers, so that a failed one can be undone, and sets the seed of libtorch's
 * generators; no collective is added to it.
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

  /** The end of a training on this rank. */
  public enum Outcome {
    /** All epochs have been completed, and this rank holds the final state. */
    COMPLETED,

    /** The others completed the training before this rank could join them. */
    NOT_NEEDED,

    /** This rank has left as it requested; the others continue. */
    LEFT
  }

  private final ElasticTrainingBuilder options;
  private final Membership membership;
  private final Progress progress;
  private final TrainingState state;
  private final Function<Part, DataLoader> loaders;
  private boolean isRun;
  private boolean isHolder;
  private @Nullable DistributedDataParallel model;
  private @Nullable DataLoader loader;
  private @Nullable Part part;

  ElasticTraining(
      ElasticTrainingBuilder options, TrainingState state, Function<Part, DataLoader> loaders) {
    this.options = options;
    this.membership = options.membership;
    this.progress = options.progress;
    this.state = state;
    this.loaders = loaders;
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
    return new ElasticTrainingBuilder(membership, wrap);
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
   *     not deliver in order
   * @throws InterruptedException if this thread is interrupted
   */
  public Outcome run(Step step) throws InterruptedException {
    requireNonNull(step, "step");
    if (isRun) {
      throw new IllegalStateException("an elastic training can be run once");
    }
    isRun = true;
    try {
      return generations(step);
    } catch (MembershipEndedException e) {
      if (e.reason() == Reason.LEFT) {
        return Outcome.LEFT;
      }
      throw e;
    } catch (RuntimeException | Error e) {
      membership.fail(Failures.describe(e));
      throw e;
    } finally {
      closeLoader();
      if (model != null) {
        model.close();
      }
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

  private Outcome generations(Step step) throws InterruptedException {
    String reason = "";
    while (true) {
      Optional<ElasticGroup> next = ElasticGroup.next(membership, options.group, reason);
      if (next.isEmpty()) {
        return Outcome.NOT_NEEDED;
      }
      try (ElasticGroup ranks = next.get()) {
        Optional<String> end = generation(ranks, step);
        if (end.isEmpty()) {
          return Outcome.COMPLETED;
        }
        reason = end.get();
      }
    }
  }

  /** Trains in one world; returns why it has ended, or nothing if the training is complete. */
  private Optional<String> generation(ElasticGroup ranks, Step step) throws InterruptedException {
    try {
      enter(ranks);
      boolean mustLeave = membership.commit(progress.step());
      if (!mustLeave && train(ranks, step)) {
        complete(ranks.world());
        return Optional.empty();
      }
      Optional<String> broken = membership.broken();
      if (broken.isEmpty()) {
        ranks.group().barrier(); // no rank is still in the last step when another one leaves
      }
      return Optional.of(broken.orElse(""));
    } catch (RuntimeException e) {
      if (e instanceof MembershipEndedException || !ranks.isBrokenBy(e)) {
        throw e;
      }
      return Optional.of(Failures.describe(e));
    } finally {
      if (options.checkpoints != null) {
        options.checkpoints.await(); // the next rank 0 may be another one
      }
    }
  }

  /** Binds the model to the group, and takes the state from rank 0. */
  private void enter(ElasticGroup ranks) {
    World world = ranks.world();
    ProcessGroup group = ranks.group();
    if (world.origin() == World.Origin.CHECKPOINT && options.checkpoints == null) {
      throw new StateLostException("it has no checkpoints");
    }
    if (model == null) {
      model = options.wrap.apply(group);
    } else {
      model.rebind(group);
    }
    if (world.origin() != World.Origin.RANK_ZERO && world.rank() == 0) {
      load(world.origin());
    }
    long[][] all =
        group.allGatherLongs(new long[] {isHolder ? 1 : 0, progress.step(), progress.digest()});
    if (!isHolder(all[0]) || !Arrays.stream(all).allMatch(each -> Arrays.equals(each, all[0]))) {
      StateTransfer.broadcast(state, group, 0);
    }
    isHolder = true;
    if (!group.part().equals(part)) {
      closeLoader();
      part = group.part();
      loader = loaders.apply(part);
    }
    options.whenChanged.accept(world);
  }

  private static boolean isHolder(long[] shared) {
    return shared[0] == 1;
  }

  private void load(World.Origin origin) {
    Checkpoints checkpoints = options.checkpoints;
    Optional<Checkpoint> last = checkpoints == null ? Optional.empty() : checkpoints.load(state);
    if (last.isEmpty() && origin == World.Origin.CHECKPOINT) {
      throw new StateLostException("its folder has no checkpoint");
    }
  }

  /** Returns whether all epochs are complete; else the world has changed after a step. */
  private boolean train(ElasticGroup ranks, Step step) throws InterruptedException {
    try (StepGuard guard = new StepGuard(requireNonNull(model).module())) {
      while (progress.epoch() < options.epochs) {
        try (Batches batches = progress.open(requireNonNull(loader))) {
          if (!train(ranks, guard, step, batches)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /** Returns whether the epoch is complete. */
  private boolean train(ElasticGroup ranks, StepGuard guard, Step step, Batches batches)
      throws InterruptedException {
    try {
      while (batches.hasNext()) {
        run(ranks, guard, step, batches.next());
        save(ranks.world());
        if (membership.commit(progress.step())) {
          return false;
        }
      }
      options.afterEpoch.accept(requireNonNull(model), batches.epoch());
      progress.endEpoch();
      return true;
    } finally {
      progress.leave();
    }
  }

  private void run(ElasticGroup ranks, StepGuard guard, Step step, Batch batch)
      throws InterruptedException {
    long rank = ranks.group().rank();
    torch.manual_seed(Hash64.foldAll(options.seed, progress.step(), rank));
    guard.begin();
    try (PointerScope scope = new PointerScope()) {
      step.run(requireNonNull(model), batch);
    } catch (RuntimeException e) {
      if (ranks.isBrokenBy(e) && guard.completesOrUndoes()) {
        progress.commit();
        membership.commit(progress.step());
      }
      throw e;
    }
    progress.commit();
  }

  private void save(World world) {
    if (options.checkpoints != null
        && world.rank() == 0
        && progress.step() % options.everySteps == 0) {
      options.checkpoints.saveInBackground(progress.step(), state);
    }
  }

  private void complete(World world) throws InterruptedException {
    if (options.checkpoints != null && world.rank() == 0) {
      options.checkpoints.save(progress.step(), state);
    }
    membership.finish();
  }

  private void closeLoader() {
    if (loader != null) {
      loader.close();
      loader = null;
      part = null;
    }
  }
}
