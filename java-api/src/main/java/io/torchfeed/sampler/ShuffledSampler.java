// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * A shuffled order in constant memory, dealt over the ranks by stride: the plan to take when no
 * other program's order has to be met.
 *
 * <p>Epoch e of the whole dataset is the {@link SeekablePermutation} of seed and e; rank r of W has
 * its positions r, r+W, r+2W, …. Opening an epoch, {@link Cursor#seek} and {@link #resume} take
 * constant time and memory at any dataset size, and the order does not depend on the number of
 * ranks. With {@link Tail#PAD} the order's first samples fill up, with {@link Tail#DROP} its last
 * ones are left out: other ones in each epoch.
 *
 * <p>Source: torchfeed's own dialect, {@code seekable}.
 *
 * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
 * @param worldSize number of ranks, at least 1
 * @param rank this rank, in [0, worldSize - 1]
 * @param seed any number
 * @param tail what happens when the ranks do not divide the dataset
 */
public record ShuffledSampler(long datasetSize, int worldSize, int rank, long seed, Tail tail)
    implements DistributedSampler {
  /**
   * A plan with the given tail.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param seed any number
   * @param tail what happens when the ranks do not divide the dataset
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public ShuffledSampler {
    requireNonNull(tail, "tail");
    Arguments.requireRank(datasetSize, worldSize, rank);
    if (datasetSize > SeekablePermutation.LARGEST) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d], got %d"
              .formatted(SeekablePermutation.LARGEST, datasetSize));
    }
  }

  /**
   * One rank's plan that pads: each rank gets the same number of samples, and every sample is seen.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param seed any number
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public ShuffledSampler(long datasetSize, int worldSize, int rank, long seed) {
    this(datasetSize, worldSize, rank, seed, Tail.PAD);
  }

  /**
   * A plan of the whole dataset.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param seed any number
   * @throws IllegalArgumentException if {@code datasetSize} is outside of its range
   */
  public ShuffledSampler(long datasetSize, long seed) {
    this(datasetSize, 1, 0, seed);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(datasetSize, worldSize, rank, tail);
  }

  @Override
  public Cursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    return Stride.open(this, () -> new Order(this, epoch), datasetSize, tail, delivered);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("seekable.ShuffledSampler")
        .with("datasetSize", datasetSize)
        .with("seed", seed)
        .with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }

  /** The order of the whole dataset. */
  private static final class Order extends PositionCursor {
    private final SeekablePermutation permutation;

    Order(ShuffledSampler plan, long epoch) {
      super(plan, plan.datasetSize);
      // No permutation is empty, but of an empty order nothing is ever read.
      permutation = SeekablePermutation.of(Math.max(1, plan.datasetSize), plan.seed, epoch);
    }

    @Override
    void read(long start, long stride, long[] into, int from, int count) {
      permutation.at(start, stride, into, from, count);
    }
  }
}
