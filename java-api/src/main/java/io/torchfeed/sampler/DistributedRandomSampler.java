// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.bindings.IndexCursor;
import java.util.List;

/**
 * The order of libtorch's C++ {@code DistributedRandomSampler}: one rank's part of a shuffled
 * dataset.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::DistributedRandomSampler}, which does
 * the work. The list 0..n-1 is padded or cut to a multiple of the ranks, then shuffled with the
 * epoch as the seed, and rank r takes the r-th contiguous slice (Python's {@code
 * DistributedSampler} strides instead). Three properties of that class are kept:
 *
 * <ul>
 *   <li>There is no other seed than the epoch, and it counts modulo 2<sup>32</sup>.
 *   <li>The padding is always the samples 0, 1, 2, …; with {@link Tail#DROP} it is always the last
 *       samples of the dataset that are never seen.
 *   <li>Each rank holds the whole list: 8 bytes for each sample of the dataset in an open cursor.
 * </ul>
 *
 * <p>With more than two ranks per sample the C++ class pads with indices that are not in the
 * dataset; here they are taken modulo its size. Opening an epoch costs one shuffle, {@link
 * Cursor#seek} constant time.
 *
 * <p>{@link #resume} is torchfeed's own and computed in Java, for datasets of up to 2<sup>31</sup>
 * - 9 samples: what the slices of the last segment left, in the order of the list, is cut into one
 * slice a rank. Padding is discarded, what {@link Tail#DROP} cut off comes last, and the new end is
 * padded with the first samples of the epoch's list.
 *
 * @param datasetSize number of samples in the dataset; at least 0, and at most 2<sup>60</sup> - 1
 *     after padding
 * @param worldSize number of ranks, at least 1
 * @param rank this rank, in [0, worldSize - 1]
 * @param tail what happens when the ranks do not divide the dataset
 */
public record DistributedRandomSampler(long datasetSize, int worldSize, int rank, Tail tail)
    implements DistributedSampler {
  /**
   * A plan with the given tail.
   *
   * @param datasetSize number of samples in the dataset; at least 0, and at most 2<sup>60</sup> - 1
   *     after padding
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param tail what happens when the ranks do not divide the dataset; not {@link Tail#UNEVEN}
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public DistributedRandomSampler {
    Arguments.requireEvenTail(tail);
    Arguments.requireRank(datasetSize, worldSize, rank);
    Arguments.requireListable(datasetSize, worldSize, tail);
  }

  /**
   * A plan that pads: each rank gets the same number of samples, and every sample is seen.
   *
   * @param datasetSize number of samples in the dataset; at least 0, and at most 2<sup>60</sup> - 1
   *     after padding
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public DistributedRandomSampler(long datasetSize, int worldSize, int rank) {
    this(datasetSize, worldSize, rank, Tail.PAD);
  }

  @Override
  public long size() {
    return Arguments.samplesOfARank(datasetSize, worldSize, tail);
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return NativeCursor.openList(
        this,
        Math.max(datasetSize, size() * worldSize),
        new ShuffledPadding(this, epoch),
        () ->
            IndexCursor.distributed_random(datasetSize, worldSize, rank, tail == Tail.PAD, epoch));
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    return new ShuffledSlices(this, epoch).open(Segment.withoutEmptyOnes(delivered));
  }

  /**
   * The same plan without libtorch: equal parameters and equal orders, computed in Java for
   * datasets of up to 2<sup>31</sup> - 9 samples. An open cursor holds 4 bytes for each sample of
   * its rank, and opening one 4 bytes more for each sample of the dataset.
   *
   * @return a plan that loads no native library
   */
  public DistributedSampler inJava() {
    return new InJava(this);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("libtorch.DistributedRandomSampler")
        .with("datasetSize", datasetSize)
        .with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("libtorch.DistributedRandomSampler")
        .with("datasetSize", datasetSize)
        .with("worldSize", worldSize)
        .with("rank", rank)
        .with("tail", tail);
  }
}
