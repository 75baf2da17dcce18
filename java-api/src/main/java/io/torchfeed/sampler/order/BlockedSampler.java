// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.PositionCursor;
import java.util.List;

/**
 * A sampler that distributes any order over the ranks in consecutive blocks, or in one contiguous
 * part per rank, for data that is read faster sequentially than sample by sample.
 *
 * <p>Blocks are assigned round-robin, one per rank and round. A rest that is too short for another
 * round is cut into one slice per rank, so ranks differ by at most one sample, which {@link Tail}
 * settles: with {@link Tail#PAD} the shorter ranks end with one of the first samples of the order.
 * A block longer than a rank's share makes the division contiguous. ({@link StridedSampler} assigns
 * single samples round-robin.)
 *
 * <p>{@link #resume} distributes the samples that the blocks left over, in ascending position, by
 * the same rule; if the world size has not changed, the run continues as if it had not stopped.
 * Time and memory are the order's, plus 16 bytes for each rank of a segment. Immutable; any number
 * of threads may open cursors.
 */
public final class BlockedSampler implements Sampler, DividedPlan<Cursor> {
  private final Sampler dataset;
  private final long datasetSize; // cached, since plans may be nested
  private final long blockSize;
  private final Part part;
  private final Tail tail;

  private BlockedSampler(Sampler dataset, long blockSize, Part part, Tail tail) {
    this.dataset = PlanChecks.requireWhole(dataset, "dataset");
    this.datasetSize = dataset.size();
    Checks.requireDatasetSize(datasetSize);
    Checks.requireFewRanks(requireNonNull(part, "part").worldSize());
    if (blockSize < 1) {
      throw new IllegalArgumentException("blockSize must be at least 1, got " + blockSize);
    }
    this.blockSize = blockSize;
    this.part = part;
    this.tail = requireNonNull(tail, "tail");
  }

  /**
   * Creates a plan of blocks, padded.
   *
   * @param dataset the plan of the whole order, not itself divided over ranks
   * @param blockSize number of consecutive positions in a block, at least 1
   * @param part the part of this rank, one of at most 65536
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static BlockedSampler of(Sampler dataset, long blockSize, Part part) {
    return new BlockedSampler(dataset, blockSize, part, Tail.PAD);
  }

  /**
   * Creates a plan of one contiguous part per rank, padded.
   *
   * @param dataset the plan of the whole order, not itself divided over ranks
   * @param part the part of this rank, one of at most 65536
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static BlockedSampler contiguous(Sampler dataset, Part part) {
    return of(dataset, Long.MAX_VALUE, part);
  }

  /**
   * Returns the same division with another tail.
   *
   * @param newTail the rule for an order that does not divide evenly among the ranks
   * @return the plan
   */
  public BlockedSampler withTail(Tail newTail) {
    requireNonNull(newTail, "newTail");
    return new BlockedSampler(dataset, blockSize, part, newTail);
  }

  private IndexPartition divide(IndexRanges list, int ranks) {
    return new BlockPartition(list, datasetSize, blockSize, ranks, tail);
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
    return divide(IndexRanges.whole(datasetSize), part.worldSize()).size(part.rank());
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return HeapMemory.planned(
        this,
        () ->
            PartitionCursor.open(
                this,
                () -> PositionCursor.over(dataset, epoch),
                IndexRanges.whole(datasetSize),
                this::divide,
                this::divide,
                before));
  }

  @Override
  public Tail tail() {
    return tail;
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return dataset.probe(epoch, 1);
  }

  @Override
  public DatasetSize madeFor() {
    return dataset.madeFor();
  }

  @Override
  public int depth() {
    return 1 + dataset.depth();
  }

  @Override
  public PlanParameters order() {
    return PlanChecks.dividedOrder(dataset, "blocked", "blockSize", "tail")
        .with("blockSize", blockSize)
        .with("tail", tail);
  }

  @Override
  public String toString() {
    return "BlockedSampler[dataset=%s, blockSize=%d, part=%s, tail=%s]"
        .formatted(dataset, blockSize, part, tail);
  }
}
