// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * The batches of any order dealt over the ranks: whole batches in turns, or a share of each global
 * batch.
 *
 * <p>Dealt whole, step k of W ranks is the batches kW, kW+1, … of the order, one a rank: a batch
 * stays as the order made it (class-cycling, bucketed). Split, step k is one global batch, of which
 * rank r has the positions r, r+W, … Either way a step is a consecutive piece of the order, all
 * ranks have the same number of batches, and all batches are full. {@link Tail#PAD} fills the last
 * step with the first samples of the order, flagged; {@link Tail#DROP} leaves out a last step that
 * is not full. (PyTorch's {@code BatchSampler} over a {@code DistributedSampler} makes its batches
 * after the division.)
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
    this.dataset = Orders.requireDealable(dataset, "dataset");
    Arguments.requireRank(dataset.size(), worldSize, rank);
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
   * A plan of whole batches in turns that pads.
   *
   * @param dataset the plan of the whole order, which does not divide it itself
   * @param batchSize number of indices in a batch, at least 1
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or {@code dataset} is
   *     one rank's plan already
   */
  public static DistributedBatchSampler ofWholeBatches(
      Sampler dataset, int batchSize, int worldSize, int rank) {
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
    return new DistributedBatchSampler(dataset, batchSize, worldSize, rank, false, Tail.PAD);
  }

  /**
   * A plan of a share of each global batch that pads.
   *
   * @param dataset the plan of the whole order, which does not divide it itself
   * @param globalBatch number of indices in a batch of all ranks together, a multiple of {@code
   *     worldSize}, at least 1
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or {@code dataset} is
   *     one rank's plan already
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
   * The same plan with another tail.
   *
   * @param newTail what becomes of a last step that is not full; not {@link Tail#UNEVEN}
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
    Arguments.requireEpoch(epoch);
    return steps(dataset.size(), step());
  }

  @Override
  public int largestBatch() {
    return batchSize;
  }

  @Override
  public BatchCursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  /**
   * {@inheritDoc}
   *
   * <p>Each step of the ranks before took a consecutive piece of the order: a global batch of this
   * plan's size where these are split, else one batch of this plan's size a rank.
   */
  @Override
  public BatchCursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    EpochProgress<Part> progress = EpochProgress.of(new Division(), delivered, worldSize);
    BatchCursor cursor = new DealtBatches(epoch, progress.part().first);
    cursor.seek(progress.delivered());
    return cursor;
  }

  /** What is left of the order from a position on, and how many ranks share it. */
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

  /** The plan of the whole order. */
  Sampler dataset() {
    return dataset;
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

  /** The batches of a rank from a position of the order on. */
  private final class DealtBatches extends NumberedBatchCursor {
    private final PositionCursor order;
    private final long first;

    DealtBatches(long epoch, long first) {
      super(DistributedBatchSampler.this, steps(dataset.size() - first, step()));
      this.order = PositionCursor.over(dataset, epoch);
      this.first = first;
    }

    /** The position in the order of an element of a batch, past its end for padding. */
    private long inOrder(long batch, int element) {
      long inStep = split ? (long) element * worldSize + rank : (long) rank * batchSize + element;
      return first + batch * step() + inStep;
    }

    @Override
    int size(long batch) {
      return batchSize;
    }

    @Override
    void read(long batch, long[] into, int from) {
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
    boolean paddingAt(long batch, int element) {
      long at = inOrder(batch, element);
      return at >= dataset.size() || order.paddingAt(at);
    }

    @Override
    void release() {
      order.close();
    }
  }
}
