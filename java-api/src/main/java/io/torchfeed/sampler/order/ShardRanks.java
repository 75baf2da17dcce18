// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PositionCursor;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The shards of a dataset as distributed over ranks, and one epoch of all ranks as a single order:
 * rank 0's, then rank 1's, and so on. Immutable.
 */
final class ShardRanks {
  private final ShardShuffleSampler dataset;
  private final int[][] shardsOfRank;
  private final long[] starts;

  ShardRanks(ShardShuffleSampler dataset, ShardRule rule, int worldSize) {
    this.dataset = dataset;
    long[] firstIndices = dataset.firstIndices();
    int[] ranks = rule.ranks(firstIndices, worldSize);
    int[] counts = new int[worldSize];
    for (int rank : ranks) {
      counts[rank]++;
    }
    this.shardsOfRank = new int[worldSize][];
    Arrays.setAll(shardsOfRank, rank -> new int[counts[rank]]);
    this.starts = new long[worldSize + 1];
    int[] filled = new int[worldSize];
    for (int shard = 0; shard < ranks.length; shard++) {
      int rank = ranks[shard];
      shardsOfRank[rank][filled[rank]++] = shard;
      starts[rank + 1] += firstIndices[shard + 1] - firstIndices[shard];
    }
    Arrays.parallelPrefix(starts, Long::sum);
  }

  long held(int rank) {
    return starts[rank + 1] - starts[rank];
  }

  long longest() {
    return IntStream.range(0, shardsOfRank.length).mapToLong(this::held).max().orElseThrow();
  }

  long shortest() {
    return IntStream.range(0, shardsOfRank.length).mapToLong(this::held).min().orElseThrow();
  }

  /** Returns the windows of all ranks. */
  IndexRanges windows(long epoch) {
    IndexRanges.Builder windows = new IndexRanges.Builder();
    for (int rank = 0; rank < shardsOfRank.length; rank++) {
      dataset.epochOf(shardsOfRank[rank], rank, epoch).addWindows(windows, starts[rank]);
    }
    return windows.build();
  }

  /** Returns the rank of each window. */
  int[] ranksOf(IndexRanges windows) {
    return IntStream.range(0, windows.count()).map(i -> rankAt(windows.before(i))).toArray();
  }

  private int rankAt(long position) {
    int found = Arrays.binarySearch(starts, position);
    if (found < 0) {
      return -found - 2;
    }
    while (starts[found + 1] == position) {
      found++; // skip ranks without samples
    }
    return found;
  }

  /** Opens a cursor over the order of all ranks. */
  PositionCursor open(Object plan, long epoch) {
    ShardEpoch[] opened = new ShardEpoch[shardsOfRank.length];
    return new ComputedCursor(
        plan,
        starts[shardsOfRank.length],
        position -> {
          int rank = rankAt(position);
          if (opened[rank] == null) {
            opened[rank] = dataset.epochOf(shardsOfRank[rank], rank, epoch);
          }
          return opened[rank].indexAt(position - starts[rank]);
        });
  }
}
