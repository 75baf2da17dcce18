// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.Shards;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The ranks of a group, or a process alone; checkpoints are written by all ranks together. */
record FixedRanks(@Nullable ProcessGroup all) implements Ranks {
  @Override
  public boolean next(String reason) {
    return true;
  }

  @Override
  public Optional<ProcessGroup> group() {
    return Optional.ofNullable(all);
  }

  @Override
  public StateStore store(@Nullable Checkpoints checkpoints) {
    return checkpoints == null ? StateStore.none() : new Folder(checkpoints);
  }

  /** A folder that all ranks reach. */
  private final class Folder implements StateStore {
    private final Checkpoints checkpoints;
    private @Nullable Shards shards;

    Folder(Checkpoints checkpoints) {
      this.checkpoints = checkpoints;
    }

    @Override
    public Optional<Loaded> load(TrainingState state) {
      return (all == null
              ? checkpoints.load(state)
              : checkpoints.load(state, all.part(), all::allGatherLongs))
          .map(Loaded::of);
    }

    @Override
    public void save(long step, TrainingState state) {
      if (all == null) {
        checkpoints.saveInBackground(step, state);
        return;
      }
      if (shards == null) {
        shards = Shards.of(all.part(), all.broadcastString(UUID.randomUUID().toString(), 0));
      }
      checkpoints.saveInBackground(step, state, shards);
    }

    @Override
    public void awaitCopied() {
      checkpoints.awaitCopied();
    }

    @Override
    public void await() {
      checkpoints.await();
    }
  }
}
