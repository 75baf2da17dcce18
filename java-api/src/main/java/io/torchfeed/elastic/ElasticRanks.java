// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RankVariables;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.StateStore;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Elastic ranks, for a {@link io.torchfeed.training.TrainingLoop} that continues with those that
 * are there.
 *
 * <pre>{@code
 * try (Membership membership = Membership.join(host, port)) {
 *   TrainingLoop.over(
 *           ElasticRanks.of(membership), group -> DistributedDataParallel.wrap(net, group))
 *       .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
 *       .loader(
 *           part ->
 *               DataLoader.over(data)
 *                   .sampler(ShuffledSampler.of(data.size(), part, 42))
 *                   .batchSize(256 / part.worldSize())
 *                   .build())
 *       .epochs(3)
 *       .build()
 *       .run((step, model, batch) -> loss(batch), optimizer::step);
 * }
 * }</pre>
 *
 * <p>A new rank joins between two steps and gets the state of rank 0; {@link
 * Membership#requestLeave} releases a rank after its step. A rank whose program throws, or whose
 * plan differs from rank 0's, fails, and the others continue. Checkpoints are saved by rank 0, in
 * the background. The loop's {@code run} also throws {@link StateLostException} if all ranks that
 * held the state are lost, and there is no checkpoint; {@link MembershipEndedException} if this
 * process can no longer take part; and {@link IllegalStateException} if a generation is run again
 * with another number of ranks than it had.
 *
 * <p>One loop runs it, in one thread; {@link #world} may be called by any.
 */
public final class ElasticRanks implements Ranks {
  private final Membership membership;
  private final GroupOptions options;
  private final @Nullable Generations generations;
  private final @Nullable String from;
  private final AtomicReference<@Nullable ElasticGroup> current = new AtomicReference<>();
  private final AtomicReference<@Nullable ElasticStates> states = new AtomicReference<>();

  private ElasticRanks(
      Membership membership,
      GroupOptions options,
      @Nullable Generations generations,
      @Nullable String from) {
    this.membership = membership;
    this.options = options;
    this.generations = generations;
    this.from = from;
  }

  /**
   * Returns the ranks of a job, with the {@linkplain GroupOptions#defaults default} options.
   *
   * @param membership this process's place in the job; borrowed
   * @return the ranks
   */
  public static ElasticRanks of(Membership membership) {
    return new ElasticRanks(
        requireNonNull(membership, "membership"),
        GroupOptions.defaults(),
        null,
        System.getenv(RankVariables.FROM_GENERATION));
  }

  /**
   * Returns these ranks with other options of their groups.
   *
   * @param options the same on all ranks, except for the device
   * @return the ranks
   */
  public ElasticRanks withGroup(GroupOptions options) {
    return new ElasticRanks(membership, requireNonNull(options, "options"), generations, from);
  }

  /**
   * Returns these ranks with a folder in which rank 0 notes each generation and saves the state
   * with which it begins, in the background. If the launcher asks for it, the job runs one of them
   * again, as by {@link #withFromGeneration}.
   *
   * @param generations of a folder that all ranks can reach, without checkpoints; borrowed
   * @return the ranks
   */
  public ElasticRanks withGenerations(Generations generations) {
    return new ElasticRanks(membership, options, requireNonNull(generations, "generations"), from);
  }

  /**
   * Returns these ranks to run a generation again: the job starts with the state of that generation
   * and as many ranks, saves no checkpoints, and notes no generations. Without failures, it
   * computes the same bits as that generation, and continues to the end of the training.
   *
   * @param name of a generation in the folder of {@link #withGenerations}, such as {@code 1.3};
   *     without a run, of the last one
   * @return the ranks
   */
  public ElasticRanks withFromGeneration(String name) {
    return new ElasticRanks(membership, options, generations, requireNonNull(name, "name"));
  }

  /**
   * Returns the place of this rank in the current generation.
   *
   * @return the generation
   * @throws IllegalStateException between two generations, and before the first
   */
  public World world() {
    return joined().world();
  }

  private ElasticGroup joined() {
    ElasticGroup group = current.get();
    if (group == null) {
      throw new IllegalStateException("this rank is in no generation at this moment");
    }
    return group;
  }

  /**
   * {@inheritDoc}
   *
   * @throws MembershipEndedException if this process can no longer take part
   * @throws IllegalStateException as {@link ElasticGroup#next}, or if a generation is to be run
   *     again and had another number of ranks
   */
  @Override
  public boolean next(String reason) throws InterruptedException {
    Optional<ElasticGroup> next =
        ElasticGroup.next(membership, options, requireNonNull(reason, "reason"));
    current.set(next.orElse(null));
    next.ifPresent(group -> requireNonNull(states.get(), "store").enter(group.world()));
    return next.isPresent();
  }

  @Override
  public Optional<ProcessGroup> group() {
    return Optional.of(joined().group());
  }

  @Override
  public boolean areFixed() {
    return false;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if a generation is to be run again and there are no generations
   * @throws IllegalArgumentException if the folder has no such generation, or not its state
   */
  @Override
  public StateStore store(@Nullable Checkpoints checkpoints) {
    if (from != null && generations == null) {
      throw new IllegalStateException(
          "generation " + from + " cannot be run again: the ranks have no withGenerations(...)");
    }
    ElasticStates store =
        new ElasticStates(
            checkpoints,
            generations,
            generations == null || from == null ? null : generations.find(from));
    states.set(store);
    return store;
  }

  @Override
  public boolean isStateHeld() {
    return world().origin() == World.Origin.RANK_ZERO;
  }

  @Override
  public void share(Stateful state) {
    StateTransfer.broadcast(requireNonNull(state, "state"), joined().group(), 0);
  }

  @Override
  public boolean commit(long completed) throws InterruptedException {
    return membership.commit(completed);
  }

  @Override
  public Optional<String> broken() {
    return membership.broken();
  }

  @Override
  public boolean isBrokenBy(RuntimeException failure) {
    return !(requireNonNull(failure, "failure") instanceof MembershipEndedException)
        && joined().isBrokenBy(failure);
  }

  @Override
  public void leave() {
    ElasticGroup group = current.getAndSet(null);
    if (group != null) {
      group.close();
    }
  }

  @Override
  public void finish() throws InterruptedException {
    membership.finish();
  }

  @Override
  public boolean isLeft(RuntimeException failure) {
    if (requireNonNull(failure, "failure") instanceof MembershipEndedException end
        && end.reason() == Reason.LEFT) {
      requireNonNull(states.get(), "store").leave(end);
      return true;
    }
    return false;
  }

  /** Asks the other ranks to continue without this one, as {@link Membership#requestLeave} does. */
  @Override
  public void requestLeave() {
    membership.requestLeave();
  }

  @Override
  public void fail(Throwable failure) {
    if (!(requireNonNull(failure, "failure") instanceof MembershipEndedException)) {
      membership.fail(Failures.describe(failure));
    }
  }
}
