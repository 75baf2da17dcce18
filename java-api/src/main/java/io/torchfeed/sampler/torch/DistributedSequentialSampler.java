// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.OrderProbe;
import io.torchfeed.sampler.cursor.Stride;
import java.util.List;

/**
 * A sampler that yields the order of libtorch's C++ {@code DistributedSequentialSampler}: one
 * rank's contiguous part of a dataset, in order.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::DistributedSequentialSampler}, which
 * does the work. Rank r takes the r-th contiguous slice of 0..n-1; positions past the end continue
 * from 0, so the padding is always the samples 0, 1, 2, …, and with {@link Tail#DROP} the last
 * samples are never seen. Every epoch is the same. Memory and the time of {@link
 * io.torchfeed.sampler.Seekable#seek} are constant.
 *
 * <p>{@link #resume} is torchfeed's own and computed in Java, in the same way as {@link
 * DistributedRandomSampler}'s; its memory and time are constant, too.
 *
 * @param datasetSize number of samples in the dataset, at least 0
 * @param part the part of this rank
 * @param tail the rule for a dataset that does not divide evenly among the ranks
 */
public record DistributedSequentialSampler(long datasetSize, Part part, Tail tail)
    implements Sampler, DividedPlan<Cursor> {
  /**
   * Creates a plan with the given tail.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @param part the part of this rank
   * @param tail the rule for a dataset that does not divide evenly among the ranks; not {@link
   *     Tail#UNEVEN}
   * @throws IllegalArgumentException if an argument is out of range
   */
  public DistributedSequentialSampler {
    requireNonNull(part, "part");
    LibtorchChecks.requireEvenTail(tail);
    Checks.requireDatasetSize(datasetSize);
  }

  /**
   * Creates a plan that pads: each rank gets the same number of samples, and every sample is seen.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static DistributedSequentialSampler of(long datasetSize, Part part) {
    return new DistributedSequentialSampler(datasetSize, part, Tail.PAD);
  }

  /**
   * Returns this plan with another tail; {@link Tail#PAD} by default.
   *
   * @param tail the rule for a dataset that does not divide evenly among the ranks; {@link
   *     Tail#PAD} or {@link Tail#DROP}
   * @return the new plan
   * @throws IllegalArgumentException if it is {@link Tail#UNEVEN}
   */
  public DistributedSequentialSampler withTail(Tail tail) {
    return new DistributedSequentialSampler(datasetSize, part, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfLongestRank(datasetSize, part.worldSize(), tail);
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return before.isEmpty() ? whole() : restInJava(before);
  }

  private Cursor whole() {
    return NativeCursor.open(
        this,
        position -> Long.compareUnsigned(part.rank() * size() + position, datasetSize) >= 0,
        () ->
            IndexCursor.distributed_sequential(
                datasetSize, part.worldSize(), part.rank(), tail == Tail.PAD));
  }

  private Cursor restInJava(List<EpochSegment> before) {
    RemainingSlices rest = new RemainingSlices(datasetSize, tail, before);
    long size = Stride.sizeOfLongestRank(rest.size(), part.worldSize(), tail);
    return new SliceCursor(this, rest, datasetSize, part.rank() * size, size);
  }

  /**
   * Returns the same plan without libtorch: equal parameters and equal orders, computed in Java.
   *
   * @return a plan that loads no native library
   */
  public Sampler inJava() {
    return new InJava(this, (epoch, before) -> restInJava(before));
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    Checks.requireEpoch(epoch);
    return OrderProbe.positions(datasetSize);
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
        .with(part)
        .with("tail", tail);
  }
}
