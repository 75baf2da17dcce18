// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.bindings.IndexCursor;
import java.util.List;

/**
 * The order of libtorch's C++ {@code DistributedSequentialSampler}: one rank's contiguous part of a
 * dataset, in order.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::DistributedSequentialSampler}, which
 * does the work. Rank r takes the r-th contiguous slice of 0..n-1; positions past the end count on
 * from 0, so the padding is always the samples 0, 1, 2, …, and with {@link Tail#DROP} the last
 * samples are never seen. Every epoch is the same. Memory and {@link Cursor#seek} are constant.
 *
 * <p>{@link #resume} is torchfeed's own and computed in Java, in the same way as that of {@link
 * DistributedRandomSampler}; memory and time are constant there too.
 *
 * @param datasetSize number of samples in the dataset, at least 0
 * @param worldSize number of ranks, at least 1
 * @param rank this rank, in [0, worldSize - 1]
 * @param tail what happens when the ranks do not divide the dataset
 */
public record DistributedSequentialSampler(long datasetSize, int worldSize, int rank, Tail tail)
    implements DistributedSampler {
  /**
   * A plan with the given tail.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param tail what happens when the ranks do not divide the dataset; not {@link Tail#UNEVEN}
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public DistributedSequentialSampler {
    Arguments.requireEvenTail(tail);
    Arguments.requireRank(datasetSize, worldSize, rank);
  }

  /**
   * A plan that pads: each rank gets the same number of samples, and every sample is seen.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public DistributedSequentialSampler(long datasetSize, int worldSize, int rank) {
    this(datasetSize, worldSize, rank, Tail.PAD);
  }

  @Override
  public long size() {
    return Arguments.samplesOfARank(datasetSize, worldSize, tail);
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return NativeCursor.open(
        this,
        position -> Long.compareUnsigned(rank * size() + position, datasetSize) >= 0,
        () -> IndexCursor.distributed_sequential(datasetSize, worldSize, rank, tail == Tail.PAD));
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    SlicedRest rest = new SlicedRest(datasetSize, tail, Segment.withoutEmptyOnes(delivered));
    long size = Arguments.samplesOfARank(rest.size(), worldSize, tail);
    return new SliceCursor(this, rest, datasetSize, rank * size, size);
  }

  /**
   * The same plan without libtorch: equal parameters and equal orders, computed in Java.
   *
   * @return a plan that loads no native library
   */
  public DistributedSampler inJava() {
    return new InJava(this);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("libtorch.DistributedSequentialSampler")
        .with("datasetSize", datasetSize)
        .with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("libtorch.DistributedSequentialSampler")
        .with("datasetSize", datasetSize)
        .with("worldSize", worldSize)
        .with("rank", rank)
        .with("tail", tail);
  }
}
