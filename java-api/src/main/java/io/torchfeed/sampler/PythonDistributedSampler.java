// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * The order of PyTorch's Python {@code DistributedSampler}, bit for bit: one rank's part of a
 * shuffled dataset, dealt by stride.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/distributed.py} and {@code randperm} on the CPU,
 * in pure Java; golden/python_samplers.py. The defaults are PyTorch's, and what differs from them
 * follows by name:
 *
 * <pre>{@code
 * new PythonDistributedSampler(50_000, 8, rank).withSeed(42).withTail(Tail.DROP)
 * }</pre>
 *
 * <p>Epoch e is a pass after {@code set_epoch(e)}: its generator is seeded with {@code seed + e},
 * of which the low 32 bits count, so (seed 0, epoch 1) and (seed 1, epoch 0) are the same order.
 * {@link Tail#PAD} is {@code drop_last=False}: behind the end the order counts on from its start,
 * as often as needed. {@link Tail#DROP} is {@code drop_last=True}: the order is cut after the
 * shuffle, so that each epoch leaves out other samples. PyTorch does not have {@link Tail#UNEVEN}.
 *
 * <p>A shuffled epoch holds 4 bytes for each sample of the dataset in an open cursor, and opening
 * it takes one shuffle of the whole dataset, on each rank, as in PyTorch. Without shuffle both are
 * constant. {@link Cursor#seek} is always constant.
 *
 * @param datasetSize number of samples in the dataset; in [0, 2147483639] with shuffle, in [0,
 *     2<sup>62</sup>] without
 * @param worldSize number of ranks, at least 1
 * @param rank this rank, in [0, worldSize - 1]
 * @param shuffle whether the order is random; otherwise it is 0, 1, 2, … in every epoch
 * @param seed any number; equal on all ranks
 * @param tail what happens when the ranks do not divide the dataset
 */
public record PythonDistributedSampler(
    long datasetSize, int worldSize, int rank, boolean shuffle, long seed, Tail tail)
    implements DistributedSampler {
  private static final long MOST_IN_ORDER = 1L << 62;

  /**
   * A plan with everything given.
   *
   * @param datasetSize number of samples in the dataset; in [0, 2147483639] with shuffle, in [0,
   *     2<sup>62</sup>] without
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param shuffle whether the order is random
   * @param seed any number; equal on all ranks
   * @param tail what happens when the ranks do not divide the dataset
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public PythonDistributedSampler {
    requireNonNull(tail, "tail");
    Arguments.requireRank(datasetSize, worldSize, rank);
    long most = shuffle ? IndexList.LONGEST : MOST_IN_ORDER;
    if (datasetSize > most) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d] %s shuffle, got %d"
              .formatted(most, shuffle ? "with" : "without", datasetSize));
    }
  }

  /**
   * A plan with PyTorch's defaults: shuffled, seed 0, padded.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2147483639]
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public PythonDistributedSampler(long datasetSize, int worldSize, int rank) {
    this(datasetSize, worldSize, rank, true, 0, Tail.PAD);
  }

  /**
   * The plan without shuffle: 0, 1, 2, … dealt by stride, in PyTorch {@code shuffle=False}.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @return the plan, padded
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static PythonDistributedSampler inOrder(long datasetSize, int worldSize, int rank) {
    return new PythonDistributedSampler(datasetSize, worldSize, rank, false, 0, Tail.PAD);
  }

  /**
   * This plan with another seed.
   *
   * @param seed any number; equal on all ranks
   * @return the new plan
   */
  public PythonDistributedSampler withSeed(long seed) {
    return new PythonDistributedSampler(datasetSize, worldSize, rank, shuffle, seed, tail);
  }

  /**
   * This plan with another tail.
   *
   * @param tail what happens when the ranks do not divide the dataset
   * @return the new plan
   */
  public PythonDistributedSampler withTail(Tail tail) {
    return new PythonDistributedSampler(datasetSize, worldSize, rank, shuffle, seed, tail);
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
    return Stride.open(this, () -> whole(epoch), datasetSize, tail, delivered);
  }

  private PositionCursor whole(long epoch) {
    if (!shuffle) {
      return new RangeCursor(this, datasetSize);
    }
    int n = (int) datasetSize;
    int[] list = IndexList.ints(this, n);
    Randperm.write(new Mt19937(seed + epoch), n, list, 0, n);
    return new ListCursor(this, IndexList.of(list));
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("python.DistributedSampler")
        .with("datasetSize", datasetSize)
        .with("shuffle", shuffle)
        .with("seed", seed)
        .with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }
}
