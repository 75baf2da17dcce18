// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.ReplicatedModel;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The states of an elastic training on the disk: checkpoints and generations. */
final class SavedStates {
  private final @Nullable Checkpoints checkpoints;
  private final @Nullable Generations generations;
  private final @Nullable Generation again;
  private final long everySteps;
  private final Progress progress;
  private final TrainingState state;

  SavedStates(ElasticTrainingBuilder options, TrainingState state) {
    this.checkpoints = options.checkpoints;
    this.generations = options.generations;
    this.everySteps = options.everySteps;
    this.progress = options.progress;
    this.state = state;
    this.again =
        generations == null || options.from == null ? null : generations.find(options.from);
  }

  /** Throws if the world cannot get its state, or cannot run a generation again. */
  void requirePossible(World world) {
    if (world.origin() == World.Origin.CHECKPOINT && again != null) {
      throw new StateLostException("a generation that is run again saves no checkpoints");
    }
    if (world.origin() == World.Origin.CHECKPOINT && checkpoints == null) {
      throw new StateLostException("it has no checkpoints");
    }
    if (again != null && world.generation() == 1 && world.size() != again.ranks()) {
      throw new IllegalStateException(
          "generation %s had %d ranks, got %d to run it again"
              .formatted(again.name(), again.ranks(), world.size()));
    }
  }

  /** Loads the state of a world that does not get it from rank 0. */
  void load(World.Origin origin) {
    if (again != null && generations != null) {
      generations.load(again, state);
      return;
    }
    Optional<Checkpoint> last = checkpoints == null ? Optional.empty() : checkpoints.load(state);
    if (last.isEmpty() && origin == World.Origin.CHECKPOINT) {
      throw new StateLostException("its folder has no checkpoint");
    }
  }

  /** Notes a generation; this rank holds its state. */
  void note(World world) {
    if (generations != null && again == null && world.rank() == 0) {
      generations.note(world, progress, state);
    }
  }

  /** Saves a checkpoint in the background, if one follows the last step. */
  void saveAfterStep(World world, ReplicatedModel model, Membership membership)
      throws InterruptedException {
    if (checkpoints == null || progress.step() % everySteps != 0) {
      return;
    }
    try {
      model.average();
    } catch (RuntimeException e) {
      membership.commit(progress.step()); // the step is complete
      throw e;
    }
    if (again == null && world.rank() == 0) {
      checkpoints.saveInBackground(progress.step(), state);
    }
  }

  /** Saves the state if it would be lost with this rank, which leaves as planned. */
  void saveIfLast(MembershipEndedException end) {
    if (checkpoints != null && again == null && end.isLastHolder()) {
      checkpoints.save(progress.step(), state);
    }
  }

  void saveAtEnd(World world) {
    if (checkpoints != null && again == null && world.rank() == 0) {
      checkpoints.save(progress.step(), state);
    }
  }

  /** Waits until everything is on the disk: the next rank 0 may be another one. */
  void await() {
    if (checkpoints != null) {
      checkpoints.await();
    }
    if (generations != null) {
      generations.await();
    }
  }
}
