// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.engine.BatchEngine;
import java.util.ArrayList;
import java.util.List;

/** The source of the batches of a rank's shards of a stream. */
public record ShardSource(
    StreamDataset dataset, List<Integer> shards, int batchSize, boolean dropLast)
    implements PassSource {
  @Override
  public Start at(long epoch, long fromBatch) {
    if (fromBatch != 0) {
      throw new IllegalArgumentException(
          "a stream starts at batch 0 or from a saved state, got fromBatch " + fromBatch);
    }
    return new ShardStart(StreamStart.ofEpoch(epoch, shards));
  }

  @Override
  public Start at(List<? extends LoaderState> states) {
    List<LoaderState.StreamState> all = new ArrayList<>();
    for (LoaderState state : states) {
      if (!(state instanceof LoaderState.StreamState ofStream)) {
        throw new IllegalArgumentException(
            "a loader of a stream resumes only from states of such loaders; got "
                + PassSource.kinds(states));
      }
      all.add(ofStream);
    }
    return new ShardStart(StreamStart.of(all, dataset, shards));
  }

  @Override
  public long batches(long epoch) {
    throw new IllegalStateException(
        "the number of batches of a stream is known only at its end; use Batches.hasNext()");
  }

  private final class ShardStart implements Start {
    private final StreamStart start;

    ShardStart(StreamStart start) {
      this.start = start;
    }

    @Override
    public long epoch() {
      return start.epoch();
    }

    @Override
    public long batch() {
      return start.batches();
    }

    @Override
    public PrefetchScheduler scheduler(BatchEngine engine, int maxInFlight) {
      return new ShardScheduler(engine, ShardSource.this, start);
    }

    @Override
    public void close() {}
  }
}
