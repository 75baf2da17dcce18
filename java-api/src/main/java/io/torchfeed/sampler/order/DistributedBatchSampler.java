// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.EpochSegment;
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
 * step k is one global batch, of which rank r has the positions r, r+W, … Either way a step is a
 * consecutive piece of the order, all ranks have the same number of batches, and all batches are
 * full. {@link Tail#PAD} fills the last step with the first samples of the order, flagged; {@link
 * Tail#DROP} leaves out a last step that is not full. (PyTorch's {@code BatchSampler} over a {@code
 * DistributedSampler} forms its batches after the division.)
 *
 * <p>Time and memory are those of the order. Immutable; any number of threads may open cursors.
 */
public final class DistributedBatchSampler implements BatchSampler {
  private final Sampler dataset;
  private final int batchSize;
  private final int worldSize;
  private final int rank;
  private final boolean split;
  private final Tail tail;

  private DistributedBatchSampler(
      Sampler dataset, int batchSize, int worldSize, int rank, boolean split, Tail tail) {
    this.dataset = PlanChecks.requireDivisible(dataset, "dataset");
    Checks.requireRank(dataset.size(), worldSize, rank);
    if (requireNonNull(tail, "tail") == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since ranks have equal numbers of full batches, got UNEVEN");
    }
    this.batchSize = batchSize;
    this.worldSize = worldSize;
    this.rank = rank;
    this.split = split;
    this.tail = tail;
  }

  /**
   * Creates a plan of whole batches assigned round-robin, padded.
   *
   * @param dataset the plan of the whole order, not itself divided over ranks
   * @param batchSize number of indices in a batch, at least 1
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static DistributedBatchSampler ofWholeBatches(
      Sampler dataset, int batchSize, int worldSize, int rank) {
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
    return new DistributedBatchSampler(dataset, batchSize, worldSize, rank, false, Tail.PAD);
  }

  /**
   * Creates a plan of a share of each global batch, padded.
   *
   * @param dataset the plan of the whole order, not itself divided over ranks
   * @param globalBatch number of indices in a batch of all ranks together, a multiple of {@code
   *     worldSize}, at least 1
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static DistributedBatchSampler ofGlobalBatches(
      Sampler dataset, int globalBatch, int worldSize, int rank) {
    if (globalBatch < 1 || (worldSize > 0 && globalBatch % worldSize != 0)) {
      throw new IllegalArgumentException(
          "globalBatch must be a multiple of worldSize (%d) and at least 1, got %d"
              .formatted(worldSize, globalBatch));
    }
    int batchSize = globalBatch / Math.max(1, worldSize);
    return new DistributedBatchSampler(dataset, batchSize, worldSize, rank, true, Tail.PAD);
  }

  /**
   * Returns the same plan with another tail.
   *
   * @param newTail what happens to a last step that is not full; not {@link Tail#UNEVEN}
   * @return the plan
   * @throws IllegalArgumentException if {@code newTail} is {@link Tail#UNEVEN}
   */
  public DistributedBatchSampler withTail(Tail newTail) {
    return new DistributedBatchSampler(dataset, batchSize, worldSize, rank, split, newTail);
  }

  private long step() {
    return (long) batchSize * worldSize;
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

  @Override
  public BatchCursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  /**
   * {@inheritDoc}
   *
   * <p>Each earlier step took a consecutive piece of the order: if global batches are split, one
   * global batch of this plan's size, otherwise one batch of this plan's size per rank.
   */
  @Override
  public BatchCursor resume(long epoch, List<EpochSegment> delivered) {
    Checks.requireEpoch(epoch);
    EpochProgress<Part> progress = EpochProgress.of(new Division(), delivered, worldSize);
    BatchCursor cursor = new DealtBatches(epoch, progress.part().first);
    cursor.seek(progress.delivered());
    return cursor;
  }

  /** The rest of the order from a position on, and the number of ranks that share it. */
  private record Part(long first, int worldSize) {}

  private final class Division implements EpochProgress.Division<Part> {
    private long stepOf(Part part) {
      return split ? step() : (long) batchSize * part.worldSize;
    }

    @Override
    public Part begin(int ranks) {
      return new Part(0, ranks);
    }

    @Override
    public Part divideRest(Part part, long delivered, int ranks) {
      return new Part(Math.min(dataset.size(), part.first + delivered * stepOf(part)), ranks);
    }

    @Override
    public long size(Part part) {
      return steps(dataset.size() - part.first, stepOf(part));
    }
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
  public Tail tail() {
    return tail;
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return dataset.probe(epoch, 1);
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
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
    return ("DistributedBatchSampler[dataset=%s, batchSize=%d, split=%b, tail=%s, worldSize=%d,"
            + " rank=%d]")
        .formatted(dataset, batchSize, split, tail, worldSize, rank);
  }

  /** A cursor over the batches of a rank, from a position of the order on. */
  private final class DealtBatches extends NumberedBatchCursor {
    private final PositionCursor order;
    private final long first;

    DealtBatches(long epoch, long first) {
      super(DistributedBatchSampler.this, steps(dataset.size() - first, step()));
      this.order = PositionCursor.over(dataset, epoch);
      this.first = first;
    }

    /** Returns the position in the order of an element of a batch; past its end for padding. */
    private long inOrder(long batch, int element) {
      long inStep = split ? (long) element * worldSize + rank : (long) rank * batchSize + element;
      return first + batch * step() + inStep;
    }

    @Override
    public int size(long batch) {
      return batchSize;
    }

    @Override
    public void read(long batch, long[] into, int from) {
      int stride = split ? worldSize : 1;
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
