// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.stream.IntStream;

/**
 * The samples of a dataset that lies in shards, shuffled so that few shards are open at a time.
 *
 * <p>The order of the shards is drawn for each epoch. Each w consecutive shards of that order make
 * a window, and the samples of a window are drawn in random order, all of them before the next
 * window begins. So any position is at most w shards away from its place in the files, every sample
 * comes once, and with w = number of shards the shuffle is a full one. Sample indices count through
 * the shards in the order given.
 *
 * <p>An open cursor takes 20 bytes a shard, and no memory for samples; an index costs O(log s) for
 * s shards, {@link Cursor#seek} too. Values are torchfeed's own ({@link SeekablePermutation}), the
 * same on every machine. {@link ShardedSampler} deals whole windows over ranks, {@link
 * BlockedSampler} and {@link StridedSampler} samples. Immutable; any number of threads may open
 * cursors.
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
      if (shardSizes[i] < 0 || shardSizes[i] > Orders.LONGEST - firstIndices[i]) {
        throw new IllegalArgumentException(
            "shard sizes must be at least 0 and %d together at most, got %d at index %d"
                .formatted(Orders.LONGEST, shardSizes[i], i));
      }
      firstIndices[i + 1] = firstIndices[i] + shardSizes[i];
    }
    this.windowShards = windowShards;
    this.shuffled = shuffled;
    this.seed = seed;
  }

  /**
   * A shuffled plan.
   *
   * @param shardSizes number of samples in each shard, at least 0; copied
   * @param windowShards number of shards whose samples are mixed, at least 1
   * @param seed any number
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or there are more than
   *     2<sup>62</sup> samples
   */
  public static ShardShuffleSampler of(long[] shardSizes, int windowShards, long seed) {
    return new ShardShuffleSampler(shardSizes, windowShards, true, seed);
  }

  /**
   * The samples as they lie in the shards, in every epoch; each shard is a window.
   *
   * @param shardSizes number of samples in each shard, at least 0; copied
   * @return the plan
   * @throws IllegalArgumentException if a size is negative, or there are more than 2<sup>62</sup>
   *     samples
   */
  public static ShardShuffleSampler inOrder(long... shardSizes) {
    return new ShardShuffleSampler(shardSizes, 1, false, 0);
  }

  /** The first index of each shard, and the end of the last. */
  long[] firstIndices() {
    return firstIndices.clone();
  }

  /** An epoch of some shards by themselves. */
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
    Arguments.requireEpoch(epoch);
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
    return Orders.described(this);
  }
}
