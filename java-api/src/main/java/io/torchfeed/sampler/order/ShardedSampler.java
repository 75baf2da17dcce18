// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.PlanChecks;
import java.util.Arrays;
import java.util.List;

/**
 * Whole shards distributed over the ranks, so that a rank reads only its own files: strided, in
 * blocks or contiguous.
 *
 * <p>A rank has the same shards in every epoch, in an order drawn for each epoch, and shuffles the
 * samples of one window of shards at a time, as described in {@link ShardShuffleSampler}. Ranks
 * whose shards differ in size have different numbers of samples: {@link Tail#PAD} makes the others
 * repeat their own first samples of the epoch (a rank without samples repeats the first rank's),
 * {@link Tail#DROP} stops all ranks where the first reaches its end, {@link Tail#UNEVEN} keeps the
 * difference. Padding and dropping cost as much as the ranks' shards differ; {@link
 * BlockedSampler#contiguous} over the shard order splits shards where it must and makes ranks equal
 * to within one sample.
 *
 * <p>{@link #resume} with another number of ranks distributes the rest of each window, whole, by
 * the same rule; if the number of ranks did not change, the run continues as if it had not stopped.
 * With s shards, opening a cursor takes O(s) time and some 50 bytes per shard, and reading an index
 * O(log s). Immutable; any number of threads may open cursors.
 */
public final class ShardedSampler implements Sampler, DividedPlan<Cursor> {
  private final ShardShuffleSampler dataset;
  private final ShardRule rule;
  private final Part part;
  private final Tail tail;
  private final long size;

  private ShardedSampler(ShardShuffleSampler dataset, ShardRule rule, Part part, Tail tail) {
    Checks.requireDatasetSize(dataset.size());
    Checks.requireFewRanks(part.worldSize());
    this.dataset = dataset;
    this.rule = rule;
    this.part = part;
    this.tail = requireNonNull(tail, "tail");
    ShardRanks ranks = new ShardRanks(dataset, rule, part.worldSize());
    this.size =
        switch (tail) {
          case PAD -> ranks.longest();
          case DROP -> ranks.shortest();
          case UNEVEN -> ranks.held(part.rank());
        };
  }

  /**
   * Returns a strided plan that pads: shard s goes to rank s modulo worldSize.
   *
   * @param dataset the shards
   * @param part the part of this rank, one of at most 65536
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static ShardedSampler strided(ShardShuffleSampler dataset, Part part) {
    requireNonNull(dataset, "dataset");
    requireNonNull(part, "part");
    return blocked(dataset, 1, part);
  }

  /**
   * Returns a plan of blocks that pads: shard s goes to rank s / shardsPerBlock modulo worldSize.
   *
   * @param dataset the shards
   * @param shardsPerBlock number of consecutive shards in a block, at least 1
   * @param part the part of this rank, one of at most 65536
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static ShardedSampler blocked(ShardShuffleSampler dataset, int shardsPerBlock, Part part) {
    requireNonNull(dataset, "dataset");
    requireNonNull(part, "part");
    if (shardsPerBlock < 1) {
      throw new IllegalArgumentException(
          "shardsPerBlock must be at least 1, got " + shardsPerBlock);
    }
    return new ShardedSampler(dataset, new ShardRule(shardsPerBlock), part, Tail.PAD);
  }

  /**
   * Returns a plan of contiguous parts that pads: each shard goes to the rank whose even share of
   * the samples contains the middle of the shard.
   *
   * @param dataset the shards
   * @param part the part of this rank, one of at most 65536
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static ShardedSampler contiguous(ShardShuffleSampler dataset, Part part) {
    requireNonNull(dataset, "dataset");
    requireNonNull(part, "part");
    ShardRule parts = new ShardRule(ShardRule.CONTIGUOUS);
    return new ShardedSampler(dataset, parts, part, Tail.PAD);
  }

  /**
   * Returns the same division with another tail.
   *
   * @param newTail the rule for ranks that differ in their number of samples
   * @return the plan
   */
  public ShardedSampler withTail(Tail newTail) {
    requireNonNull(newTail, "newTail");
    return new ShardedSampler(dataset, rule, part, newTail);
  }

  @Override
  public Part part() {
    return part;
  }

  @Override
  public int maxWorldSize() {
    return Checks.FEW_RANKS;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    int firstWorldSize = before.isEmpty() ? part.worldSize() : before.get(0).worldSize();
    ShardRanks ranks = new ShardRanks(dataset, rule, firstWorldSize);
    return PartitionCursor.open(
        this,
        () -> ranks.open(this, epoch),
        ranks.windows(epoch),
        (windows, world) -> new ShardPartition(windows, ranks.ranksOf(windows), world, tail),
        this::redivided,
        before);
  }

  @Override
  public Tail tail() {
    return tail;
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return dataset.probe(epoch, 1);
  }

  private IndexPartition redivided(IndexRanges left, int world) {
    long[] starts = new long[left.count() + 1];
    Arrays.setAll(starts, left::before);
    return new ShardPartition(left, rule.ranks(starts, world), world, tail);
  }

  @Override
  public PlanParameters order() {
    return PlanChecks.dividedOrder(dataset, "sharded", "shardsPerBlock", "tail")
        .with("shardsPerBlock", rule.block() == ShardRule.CONTIGUOUS ? "contiguous" : rule.block())
        .with("tail", tail);
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }
}
