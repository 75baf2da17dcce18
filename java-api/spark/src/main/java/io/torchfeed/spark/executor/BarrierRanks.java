// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.spark.RankCheckpoints;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.StateStore;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The ranks of a barrier stage, each over rows of its own. They stay until the stage ends; a
 * repeated one continues from the job's checkpoints.
 *
 * @param members the group of the ranks
 * @param checkpoints of the job; null for none
 */
record BarrierRanks(ProcessGroup members, @Nullable RankCheckpoints checkpoints) implements Ranks {
  @Override
  public boolean next(String reason) {
    requireNonNull(reason, "reason");
    return true;
  }

  @Override
  public Optional<ProcessGroup> group() {
    return Optional.of(members);
  }

  @Override
  public boolean haveOwnData() {
    return true;
  }

  @Override
  public StateStore store(@Nullable Checkpoints local) {
    if (local != null) {
      throw new IllegalArgumentException(
          "executors have no folder in common; name one by SparkRanks.checkpoints(path)");
    }
    return checkpoints == null ? StateStore.none() : new Store(checkpoints);
  }

  /** The checkpoints of the job. */
  private record Store(RankCheckpoints checkpoints) implements StateStore {
    @Override
    public Optional<Loaded> load(TrainingState state) {
      OptionalLong step = checkpoints.load(state.shared(), state.own());
      return step.isEmpty()
          ? Optional.empty()
          : Optional.of(
              new Loaded(
                  "the job's checkpoint after %d steps".formatted(step.getAsLong()), List.of()));
    }

    @Override
    public void save(long step, TrainingState state) {
      checkpoints.save(step, state.shared(), state.own());
    }
  }
}
