// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * Any order dealt over the ranks in consecutive blocks, or in one contiguous part a rank: for data
 * that is read faster in a row than by single samples.
 *
 * <p>Blocks are dealt in rounds of one a rank. What is too short for another round is cut into one
 * slice a rank, so ranks differ by one sample at most, which {@link Tail} settles: with {@link
 * Tail#PAD} the shorter ranks end with one of the first samples of the order. A block longer than a
 * rank's share is the contiguous division. ({@link StridedSampler} deals single samples.)
 *
 * <p>{@link #resume} deals what the blocks left over, in ascending position, by the same rule;
 * where the number of ranks did not change, the run goes on as if it had not stopped. Time and
 * memory are those of the order, and 16 bytes for each rank of a segment. Immutable; any number of
 * threads may open cursors.
 */
public final class BlockedSampler implements DistributedSampler {
  private final Sampler dataset;
  private final long blockSize;
  private final int worldSize;
  private final int rank;
  private final Tail tail;

  private BlockedSampler(Sampler dataset, long blockSize, int worldSize, int rank, Tail tail) {
    this.dataset = Orders.requireWhole(dataset, "dataset");
    Arguments.requireRank(dataset.size(), worldSize, rank);
    if (blockSize < 1) {
      throw new IllegalArgumentException("blockSize must be at least 1, got " + blockSize);
    }
    this.blockSize = blockSize;
    this.worldSize = worldSize;
    this.rank = rank;
    this.tail = requireNonNull(tail, "tail");
  }

  /**
   * A plan of blocks that pads.
   *
   * @param dataset the plan of the whole order, which does not divide it itself
   * @param blockSize number of consecutive positions of a block, at least 1
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or {@code dataset} is
   *     one rank's plan already
   */
  public static BlockedSampler of(Sampler dataset, long blockSize, int worldSize, int rank) {
    return new BlockedSampler(dataset, blockSize, worldSize, rank, Tail.PAD);
  }

  /**
   * A plan of one contiguous part a rank that pads.
   *
   * @param dataset the plan of the whole order, which does not divide it itself
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or {@code dataset} is
   *     one rank's plan already
   */
  public static BlockedSampler contiguous(Sampler dataset, int worldSize, int rank) {
    return of(dataset, Long.MAX_VALUE, worldSize, rank);
  }

  /**
   * The same division with another tail.
   *
   * @param newTail what happens when the ranks do not divide the order
   * @return the plan
   */
  public BlockedSampler withTail(Tail newTail) {
    return new BlockedSampler(dataset, blockSize, worldSize, rank, newTail);
  }

  private Dealing deal(Pieces list, int ranks) {
    return new BlockDealing(list, dataset.size(), blockSize, ranks, tail);
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
    return deal(Pieces.whole(dataset.size()), worldSize).size(rank);
  }

  @Override
  public Cursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    return DealtCursor.open(
        this,
        () -> PositionCursor.over(dataset, epoch),
        Pieces.whole(dataset.size()),
        this::deal,
        this::deal,
        DealtCursor.joined(delivered));
  }

  /** The plan that is dealt. */
  Sampler dataset() {
    return dataset;
  }

  @Override
  public PlanParameters order() {
    return Orders.dealt(dataset, "blocked", "blockSize", "tail")
        .with("blockSize", blockSize)
        .with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }

  @Override
  public String toString() {
    return "BlockedSampler[dataset=%s, blockSize=%d, worldSize=%d, rank=%d, tail=%s]"
        .formatted(dataset, blockSize, worldSize, rank, tail);
  }
}
