// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.OrderProbe;
import io.torchfeed.sampler.cursor.Stride;
import java.util.Arrays;
import java.util.List;

/**
 * A sampler that yields the order of libtorch's C++ {@code DistributedRandomSampler}: one rank's
 * part of a shuffled dataset.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::DistributedRandomSampler}, which does
 * the work. The list 0..n-1 is padded or truncated to a multiple of the world size, then shuffled
 * with the epoch as the seed, and rank r takes the r-th contiguous slice (Python's {@code
 * DistributedSampler} strides instead). Three properties of that class are kept:
 *
 * <ul>
 *   <li>The only seed is the epoch, modulo 2<sup>32</sup>.
 *   <li>The padding is always the samples 0, 1, 2, …; with {@link Tail#DROP} the last samples of
 *       the dataset are never seen.
 *   <li>Each rank holds the whole list: an open cursor takes 8 bytes per sample of the dataset.
 * </ul>
 *
 * <p>With more than two ranks per sample the C++ class pads with indices that are not in the
 * dataset; here they are taken modulo its size. Opening an epoch takes one shuffle; {@link
 * Cursor#seek} takes constant time.
 *
 * <p>{@link #resume} is torchfeed's own and computed in Java, for datasets of up to 2<sup>31</sup>
 * - 9 samples: the rest of the slices of the last segment, in the order of the list, is cut into
 * one slice per rank. Padding is discarded, the samples that {@link Tail#DROP} cut off come last,
 * and the new end is padded with the first samples of the epoch's list.
 *
 * @param datasetSize number of samples in the dataset; at least 0, and at most 2<sup>60</sup> - 1
 *     after padding
 * @param part the part of this rank
 * @param tail the rule for a dataset that does not divide evenly among the ranks
 */
public record DistributedRandomSampler(long datasetSize, Part part, Tail tail)
    implements Sampler, DividedPlan<Cursor> {
  /**
   * Creates a plan with the given tail.
   *
   * @param datasetSize number of samples in the dataset; at least 0, and at most 2<sup>60</sup> - 1
   *     after padding
   * @param part the part of this rank
   * @param tail the rule for a dataset that does not divide evenly among the ranks; not {@link
   *     Tail#UNEVEN}
   * @throws IllegalArgumentException if an argument is out of range
   */
  public DistributedRandomSampler {
    requireNonNull(part, "part");
    LibtorchChecks.requireEvenTail(tail);
    Checks.requireDatasetSize(datasetSize);
    LibtorchChecks.requireListable(datasetSize, part.worldSize(), tail);
  }

  /**
   * Creates a plan that pads: each rank gets the same number of samples, and every sample is seen.
   *
   * @param datasetSize number of samples in the dataset; at least 0, and at most 2<sup>60</sup> - 1
   *     after padding
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static DistributedRandomSampler of(long datasetSize, Part part) {
    requireNonNull(part, "part");
    return new DistributedRandomSampler(datasetSize, part, Tail.PAD);
  }

  /**
   * Returns this plan with another tail; {@link Tail#PAD} by default.
   *
   * @param tail the rule for a dataset that does not divide evenly among the ranks; {@link
   *     Tail#PAD} or {@link Tail#DROP}
   * @return the new plan
   * @throws IllegalArgumentException if it is {@link Tail#UNEVEN}
   */
  public DistributedRandomSampler withTail(Tail tail) {
    return new DistributedRandomSampler(datasetSize, part, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfLongestRank(datasetSize, part.worldSize(), tail);
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return before.isEmpty() ? whole(epoch) : restInJava(epoch, before);
  }

  private Cursor whole(long epoch) {
    return NativeCursor.openList(
        this,
        Math.max(datasetSize, size() * part.worldSize()),
        new ShuffledPadding(this, epoch),
        () ->
            IndexCursor.distributed_random(
                datasetSize, part.worldSize(), part.rank(), tail == Tail.PAD, epoch));
  }

  private Cursor restInJava(long epoch, List<EpochSegment> before) {
    ShuffledSlices slices = new ShuffledSlices(this, epoch);
    return HeapMemory.planned(this, () -> slices.open(before));
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    Checks.requireEpoch(epoch);
    if (datasetSize + worldSize > OrderProbe.MAX_LIST) {
      return new long[0];
    }
    int[] list = new ShuffledSlices(this, epoch).list(worldSize);
    return Arrays.stream(OrderProbe.positions(list.length))
        .map(position -> list[(int) position])
        .toArray();
  }

  /**
   * Returns the same plan without libtorch: equal parameters and equal orders, computed in Java for
   * datasets of up to 2<sup>31</sup> - 9 samples. An open cursor holds 4 bytes per sample of its
   * rank, and opening one takes 4 more bytes per sample of the dataset.
   *
   * @return a plan that loads no native library
   */
  public Sampler inJava() {
    return new InJava(this, this::restInJava);
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
        .with(part)
        .with("tail", tail);
  }
}
