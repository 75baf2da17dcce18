// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.EpochProgress;
import io.torchfeed.sampler.cursor.NumberedBatchCursor;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.PositionCursor;
import java.util.List;

/**
 * A batch sampler that divides any order over the ranks: whole batches round-robin, or a share of
 * each global batch.
 *
 * <p>With whole batches, step k of W ranks consists of the batches kW, kW+1, … of the order, one
 * per rank: a batch stays as the order formed it (class-cycling, bucketed). With global batches,
 * step k is one global batch; rank r has its positions r, r+W, … Either way a step is a consecutive
 * piece of the order, all ranks have the same number of batches, and all batches are full. {@link
 * Tail#PAD} fills the last step with the first samples of the order, flagged; {@link Tail#DROP}
 * leaves out a last step that is not full. (PyTorch's {@code BatchSampler} over a {@code
 * DistributedSampler} forms its batches after the division.)
 *
 * <p>Time and memory are the order's. Immutable; any number of threads may open cursors.
 */
public final class DistributedBatchSampler implements BatchSampler, DividedPlan<BatchCursor> {
  private final Sampler dataset;
  private final int batchSize;
  private final Part part;
  private final boolean split;
  private final Tail tail;

  private DistributedBatchSampler(
      Sampler dataset, int batchSize, Part part, boolean split, Tail tail) {
    this.dataset = PlanChecks.requireDivisible(dataset, "dataset");
    Checks.requireDatasetSize(dataset.size());
    if (requireNonNull(tail, "tail") == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since ranks have equal numbers of full batches, got UNEVEN");
    }
    this.batchSize = batchSize;
    this.part = requireNonNull(part, "part");
    this.split = split;
    this.tail = tail;
  }

  /**
   * Creates a plan of whole batches assigned round-robin, padded.
   *
   * @param dataset the plan of the whole order, not itself divided over ranks
   * @param batchSize number of indices in a batch, at least 1
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static DistributedBatchSampler ofWholeBatches(Sampler dataset, int batchSize, Part part) {
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
    return new DistributedBatchSampler(dataset, batchSize, part, false, Tail.PAD);
  }

  /**
   * Creates a plan of a share of each global batch, padded.
   *
   * @param dataset the plan of the whole order, not itself divided over ranks
   * @param globalBatch number of indices in a batch of all ranks together, a multiple of the world
   *     size, at least 1
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static DistributedBatchSampler ofGlobalBatches(
      Sampler dataset, int globalBatch, Part part) {
    requireNonNull(part, "part");
    int ranks = part.worldSize();
    if (globalBatch < 1 || globalBatch % ranks != 0) {
      throw new IllegalArgumentException(
          "globalBatch must be a multiple of worldSize (%d) and at least 1, got %d"
              .formatted(ranks, globalBatch));
    }
    return new DistributedBatchSampler(dataset, globalBatch / ranks, part, true, Tail.PAD);
  }

  /**
   * Returns the same plan with another tail.
   *
   * @param newTail the rule for a last step that is not full; not {@link Tail#UNEVEN}
   * @return the plan
   * @throws IllegalArgumentException if {@code newTail} is {@link Tail#UNEVEN}
   */
  public DistributedBatchSampler withTail(Tail newTail) {
    requireNonNull(newTail, "newTail");
    return new DistributedBatchSampler(dataset, batchSize, part, split, newTail);
  }

  private long step() {
    return (long) batchSize * part.worldSize();
  }

  private long steps(long positions, long step) {
    long whole = positions / step;
    return tail == Tail.PAD && positions % step != 0 ? whole + 1 : whole;
  }

  @Override
  public long batches(long epoch) {
    Checks.requireEpoch(epoch);
    return steps(dataset.size(), step());
  }

  @Override
  public int maxBatchSize() {
    return batchSize;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Each earlier step took a consecutive piece of the order: if global batches are split, one
   * global batch of this plan's size, otherwise one batch of this plan's size per rank.
   */
  @Override
  public BatchCursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    Rest rest = EpochProgress.rest(new Division(), before, part.worldSize());
    return new DividedBatches(epoch, rest.first);
  }

  /** The rest of the order from a position on, and the number of ranks that share it. */
  private record Rest(long first, int worldSize) {}

  private final class Division implements EpochProgress.Division<Rest> {
    private long stepOf(Rest rest) {
      return split ? step() : (long) batchSize * rest.worldSize;
    }

    @Override
    public Rest begin(int ranks) {
      return new Rest(0, ranks);
    }

    @Override
    public Rest divideRest(Rest rest, long delivered, int ranks) {
      return new Rest(Math.min(dataset.size(), rest.first + delivered * stepOf(rest)), ranks);
    }

    @Override
    public long size(Rest rest) {
      return steps(dataset.size() - rest.first, stepOf(rest));
    }
  }

  @Override
  public Part part() {
    return part;
  }

  @Override
  public Tail tail() {
    return tail;
  }

  @Override
  public DatasetSize madeFor() {
    return dataset.madeFor();
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return dataset.probe(epoch, 1);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("torchfeed.DistributedBatchSampler")
        .with("dataset", dataset.digest())
        .with("split", split)
        .with("batchSize", split ? step() : batchSize)
        .with("tail", tail);
  }

  @Override
  public String toString() {
    return "DistributedBatchSampler[dataset=%s, batchSize=%d, split=%b, tail=%s, part=%s]"
        .formatted(dataset, batchSize, split, tail, part);
  }

  /** A cursor over the batches of a rank, from a position of the order on. */
  private final class DividedBatches extends NumberedBatchCursor {
    private final PositionCursor order;
    private final long first;

    DividedBatches(long epoch, long first) {
      super(DistributedBatchSampler.this, steps(dataset.size() - first, step()));
      this.order = PositionCursor.over(dataset, epoch);
      this.first = first;
    }

    /** Returns the position in the order of an element of a batch; past its end for padding. */
    private long inOrder(long batch, int element) {
      long inStep =
          split
              ? (long) element * part.worldSize() + part.rank()
              : (long) part.rank() * batchSize + element;
      return first + batch * step() + inStep;
    }

    @Override
    public int size(long batch) {
      return batchSize;
    }

    @Override
    public void read(long batch, long[] into, int from) {
      int stride = split ? part.worldSize() : 1;
      int done = 0;
      while (done < batchSize) {
        long at = inOrder(batch, done) % dataset.size();
        int read = (int) Math.min((dataset.size() - 1 - at) / stride + 1, batchSize - done);
        order.read(at, stride, into, from + done, read);
        done += read;
      }
    }

    @Override
    public boolean paddingAt(long batch, int element) {
      long at = inOrder(batch, element);
      return at >= dataset.size() || order.paddingAt(at);
    }

    @Override
    public void release() {
      order.close();
    }
  }
}
