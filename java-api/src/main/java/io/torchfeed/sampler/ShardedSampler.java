// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.List;

/**
 * Whole shards dealt over the ranks, so that a rank reads its own files only: strided, in blocks or
 * contiguous.
 *
 * <p>A rank has the same shards in every epoch, in an order drawn for each epoch, and shuffles the
 * samples of a window of them at a time, as the {@link ShardShuffleSampler} says whose shards they
 * are. Ranks whose shards differ in size have different numbers of samples: {@link Tail#PAD} lets
 * the others repeat their own first samples of the epoch (a rank without samples repeats those of
 * the first rank), {@link Tail#DROP} stops all where the first is at its end, {@link Tail#UNEVEN}
 * leaves it. Both cost as much as the shards differ; {@link BlockedSampler#contiguous} over the
 * shard order divides shards where it must and makes ranks equal but for one sample.
 *
 * <p>{@link #resume} with another number of ranks deals what is left of each window, whole, by the
 * same rule; where the number of ranks did not change, the run goes on as if it had not stopped.
 * Opening a cursor costs O(s) time and some 50 bytes a shard for s shards, an index O(log s).
 * Immutable; any number of threads may open cursors.
 */
public final class ShardedSampler implements DistributedSampler {
  private static final int MOST_RANKS = 1 << 24;

  private final ShardShuffleSampler dataset;
  private final ShardRule rule;
  private final int worldSize;
  private final int rank;
  private final Tail tail;
  private final long size;

  private ShardedSampler(
      ShardShuffleSampler dataset, ShardRule rule, int worldSize, int rank, Tail tail) {
    Arguments.requireRank(dataset.size(), worldSize, rank);
    requireRanks(worldSize);
    this.dataset = dataset;
    this.rule = rule;
    this.worldSize = worldSize;
    this.rank = rank;
    this.tail = requireNonNull(tail, "tail");
    ShardRanks ranks = new ShardRanks(dataset, rule, worldSize);
    this.size =
        switch (tail) {
          case PAD -> ranks.longest();
          case DROP -> ranks.shortest();
          case UNEVEN -> ranks.held(rank);
        };
  }

  private static void requireRanks(int worldSize) {
    if (worldSize > MOST_RANKS) {
      throw new IllegalArgumentException(
          "worldSize must be in [1, %d], got %d".formatted(MOST_RANKS, worldSize));
    }
  }

  /**
   * A plan by stride that pads: shard s goes to rank s modulo worldSize.
   *
   * @param dataset the shards
   * @param worldSize number of ranks, in [1, 2<sup>24</sup>]
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static ShardedSampler strided(ShardShuffleSampler dataset, int worldSize, int rank) {
    return blocked(dataset, 1, worldSize, rank);
  }

  /**
   * A plan of blocks that pads: shard s goes to rank s / shardsPerBlock modulo worldSize.
   *
   * @param dataset the shards
   * @param shardsPerBlock number of consecutive shards of a block, at least 1
   * @param worldSize number of ranks, in [1, 2<sup>24</sup>]
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static ShardedSampler blocked(
      ShardShuffleSampler dataset, int shardsPerBlock, int worldSize, int rank) {
    if (shardsPerBlock < 1) {
      throw new IllegalArgumentException(
          "shardsPerBlock must be at least 1, got " + shardsPerBlock);
    }
    return new ShardedSampler(dataset, new ShardRule(shardsPerBlock), worldSize, rank, Tail.PAD);
  }

  /**
   * A plan of contiguous parts that pads: each shard goes to the rank in whose even share of the
   * samples its middle lies.
   *
   * @param dataset the shards
   * @param worldSize number of ranks, in [1, 2<sup>24</sup>]
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static ShardedSampler contiguous(ShardShuffleSampler dataset, int worldSize, int rank) {
    ShardRule parts = new ShardRule(ShardRule.CONTIGUOUS);
    return new ShardedSampler(dataset, parts, worldSize, rank, Tail.PAD);
  }

  /**
   * The same division with another tail.
   *
   * @param newTail what happens when ranks differ in their number of samples
   * @return the plan
   */
  public ShardedSampler withTail(Tail newTail) {
    return new ShardedSampler(dataset, rule, worldSize, rank, newTail);
  }

  @Override
  public int worldSize() {
    return worldSize;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public Cursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    List<Segment> chain = DealtCursor.joined(delivered);
    int firstWorldSize = chain.isEmpty() ? worldSize : chain.get(0).worldSize();
    chain.forEach(segment -> requireRanks(segment.worldSize()));
    ShardRanks ranks = new ShardRanks(dataset, rule, firstWorldSize);
    return DealtCursor.open(
        this,
        () -> ranks.open(this, epoch),
        ranks.windows(epoch),
        (windows, world) -> new ShardDealing(windows, ranks.ranksOf(windows), world, tail),
        this::redealt,
        chain);
  }

  private Dealing redealt(Pieces left, int world) {
    long[] starts = new long[left.count() + 1];
    Arrays.setAll(starts, left::before);
    return new ShardDealing(left, rule.ranks(starts, world), world, tail);
  }

  /** The plan that is dealt. */
  Sampler dataset() {
    return dataset;
  }

  @Override
  public PlanParameters order() {
    return Orders.dealt(dataset, "sharded", "shardsPerBlock", "tail")
        .with("shardsPerBlock", rule.block() == ShardRule.CONTIGUOUS ? "contiguous" : rule.block())
        .with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }

  @Override
  public String toString() {
    return Orders.described(this);
  }
}
