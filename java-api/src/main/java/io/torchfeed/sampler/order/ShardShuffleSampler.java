// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.ContentHash;
import io.torchfeed.internal.CounterRandom;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PlanChecks;
import java.util.stream.IntStream;

/**
 * The samples of a dataset stored in shards, shuffled so that few shards are open at a time.
 *
 * <p>The order of the shards is drawn for each epoch. Each w consecutive shards of that order form
 * a window, and the samples of a window are drawn in random order, all of them before the next
 * window begins. Any sample is delivered at most w shards away from its place in that order, every
 * sample occurs once, and with w = number of shards the shuffle is a full one. Sample indices count
 * through the shards in the given order.
 *
 * <p>An open cursor takes 20 bytes per shard and no memory per sample; with s shards, reading an
 * index and {@link io.torchfeed.sampler.Seekable#seek} take O(log s). Values are torchfeed's own
 * ({@link SeekablePermutation}), the same on every machine. {@link ShardedSampler} distributes
 * whole windows over ranks, {@link BlockedSampler} and {@link StridedSampler} distribute samples.
 * Immutable; any number of threads may open cursors.
 */
public final class ShardShuffleSampler implements Sampler {
  private final long[] firstIndices;
  private final int windowShards;
  private final boolean shuffled;
  private final long seed;

  private ShardShuffleSampler(long[] shardSizes, int windowShards, boolean shuffled, long seed) {
    if (windowShards < 1) {
      throw new IllegalArgumentException("windowShards must be at least 1, got " + windowShards);
    }
    this.firstIndices = new long[shardSizes.length + 1];
    for (int i = 0; i < shardSizes.length; i++) {
      if (shardSizes[i] < 0 || shardSizes[i] > PlanChecks.MAX_SIZE - firstIndices[i]) {
        throw new IllegalArgumentException(
            "shard sizes must be at least 0 and sum to at most %d, got %d at index %d"
                .formatted(PlanChecks.MAX_SIZE, shardSizes[i], i));
      }
      firstIndices[i + 1] = firstIndices[i] + shardSizes[i];
    }
    this.windowShards = windowShards;
    this.shuffled = shuffled;
    this.seed = seed;
  }

  /**
   * Returns a shuffled plan.
   *
   * @param shardSizes number of samples in each shard, at least 0; copied
   * @param windowShards number of shards whose samples are mixed, at least 1
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or there are more than
   *     2<sup>62</sup> samples
   */
  public static ShardShuffleSampler of(long[] shardSizes, int windowShards, long seed) {
    requireNonNull(shardSizes, "shardSizes");
    return new ShardShuffleSampler(shardSizes, windowShards, true, seed);
  }

  /**
   * Returns a plan of the samples in stored order, the same in every epoch; each shard is a window.
   *
   * @param shardSizes number of samples in each shard, at least 0; copied
   * @return the plan
   * @throws IllegalArgumentException if a size is negative, or there are more than 2<sup>62</sup>
   *     samples
   */
  public static ShardShuffleSampler inOrder(long... shardSizes) {
    requireNonNull(shardSizes, "shardSizes");
    return new ShardShuffleSampler(shardSizes, 1, false, 0);
  }

  /** Returns the first index of each shard, and the end of the last. */
  long[] firstIndices() {
    return firstIndices.clone();
  }

  /** Returns an epoch over some of the shards only. */
  ShardEpoch epochOf(int[] shards, long stream, long epoch) {
    return new ShardEpoch(
        firstIndices, shards, windowShards, shuffled, CounterRandom.seedOf(seed, stream), epoch);
  }

  @Override
  public long size() {
    return firstIndices[firstIndices.length - 1];
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    int[] shards = IntStream.range(0, firstIndices.length - 1).toArray();
    ShardEpoch order = new ShardEpoch(firstIndices, shards, windowShards, shuffled, seed, epoch);
    return new ComputedCursor(this, size(), order::indexAt);
  }

  @Override
  public PlanParameters parameters() {
    PlanParameters parameters =
        PlanParameters.of("seekable.ShardShuffleSampler")
            .with("datasetSize", size())
            .with("shardSizes", new ContentHash().add(firstIndices).hex())
            .with("shuffle", shuffled);
    return shuffled ? parameters.with("windowShards", windowShards).with("seed", seed) : parameters;
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }
}
