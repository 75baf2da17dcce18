// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.sampler.RankConsistency;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The source of the batches of a rank's shards of a stream. */
public record ShardSource(
    StreamDataset dataset, List<Integer> shards, int batchSize, boolean dropLast)
    implements PassSource {
  @Override
  public int maxBatchSize() {
    return batchSize;
  }

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

  @Override
  public void verifyRanks(long epoch, RankConsistency.AllGather gather) {
    String[] names = {"shards", "batchSize", "dropLast", "epoch"};
    long[] mine = {dataset.shards(), batchSize, dropLast ? 1 : 0, epoch, 0, 0};
    mine[names.length] = shards.isEmpty() ? 0 : shards.get(0);
    mine[names.length + 1] = shards.size();
    long[][] all = gather.gather(mine);
    for (int field = 0; field < names.length; field++) {
      for (int rank = 1; rank < all.length; rank++) {
        if (all[rank][field] != all[0][field]) {
          throw new IllegalStateException(
              "the ranks' streams differ in %s: rank 0 has %d, rank %d has %d"
                  .formatted(names[field], all[0][field], rank, all[rank][field]));
        }
      }
    }
    Map<Long, Integer> readers = new HashMap<>();
    for (int rank = 0; rank < all.length; rank++) {
      @Nullable Integer other = readers.putIfAbsent(all[rank][names.length], rank);
      if (other != null) {
        throw new IllegalStateException(
            "ranks %d and %d both read shard %d; give each loader its part"
                .formatted(other, rank, all[rank][names.length]));
      }
    }
    long read = Arrays.stream(all).mapToLong(each -> each[names.length + 1]).sum();
    if (read != dataset.shards()) {
      throw new IllegalStateException(
          "the %d ranks read %d shards of %d; give each loader its part"
              .formatted(all.length, read, dataset.shards()));
    }
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
