// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.training.Progress;
import io.torchfeed.training.StateStore;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The states of elastic ranks on the disk: checkpoints and generations, written by rank 0. */
final class ElasticStates implements StateStore {
  private final @Nullable Checkpoints checkpoints;
  private final @Nullable Generations generations;
  private final @Nullable Generation again;
  private @Nullable World world;
  private boolean isLastHolder;

  ElasticStates(
      @Nullable Checkpoints checkpoints,
      @Nullable Generations generations,
      @Nullable Generation again) {
    this.checkpoints = checkpoints;
    this.generations = generations;
    this.again = again;
  }

  /** Enters a generation. */
  void enter(World now) {
    world = now;
  }

  private World world() {
    return requireNonNull(world, "the world of this rank");
  }

  /**
   * Throws on each rank if its generation cannot get its state, or cannot run a generation again.
   */
  private void requirePossible(World now) {
    if (now.origin() == World.Origin.CHECKPOINT && again != null) {
      throw new StateLostException("a generation that is run again saves no checkpoints");
    }
    if (now.origin() == World.Origin.CHECKPOINT && checkpoints == null) {
      throw new StateLostException("it has no checkpoints");
    }
    if (again != null && now.generation() == 1 && now.size() != again.ranks()) {
      throw new IllegalStateException(
          "generation %s had %d ranks, got %d to run it again"
              .formatted(again.name(), again.ranks(), now.size()));
    }
  }

  private boolean isFirst() {
    return world().rank() == 0;
  }

  @Override
  public boolean isEmpty() {
    return checkpoints == null
        && again == null
        && world().origin() != World.Origin.CHECKPOINT; // which is refused
  }

  /** Loads the state on rank 0; the others copy it. */
  @Override
  public Optional<Loaded> load(TrainingState state) {
    requirePossible(world());
    if (!isFirst()) {
      return Optional.empty();
    }
    if (again != null && generations != null) {
      generations.load(again, state);
      return Optional.of(new Loaded("generation " + again.name(), List.of()));
    }
    Optional<Checkpoint> last = checkpoints == null ? Optional.empty() : checkpoints.load(state);
    if (last.isEmpty() && world().origin() == World.Origin.CHECKPOINT) {
      throw new StateLostException("its folder has no checkpoint");
    }
    return last.map(Loaded::of);
  }

  @Override
  public void begin(Progress progress, TrainingState state) {
    if (generations != null && again == null && isFirst()) {
      generations.note(world(), progress, state);
    }
  }

  @Override
  public void save(long step, TrainingState state) {
    if (checkpoints != null && again == null && isFirst()) {
      checkpoints.saveInBackground(step, state);
    }
  }

  /** Notes that this rank has left. */
  void leave(MembershipEndedException end) {
    isLastHolder = end.isLastHolder();
  }

  @Override
  public void saveAsLast(long step, TrainingState state) {
    if (checkpoints != null && again == null && isLastHolder) {
      checkpoints.save(step, state);
    }
  }

  @Override
  public void awaitCopied() {
    if (checkpoints != null) {
      checkpoints.awaitCopied();
    }
  }

  @Override
  public void await() {
    if (checkpoints != null) {
      checkpoints.await();
    }
    if (generations != null) {
      generations.await();
    }
  }
}
