// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
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
import io.torchfeed.sampler.cursor.Stride;
import java.util.List;

/**
 * Any order distributed over the ranks by stride: rank r of W takes the positions r, r+W, r+2W, …,
 * so that step k of all ranks together is a contiguous range of the order.
 *
 * <p>PyTorch's {@code DistributedSampler} divides its order in this way; here the order may be any
 * plan over the whole dataset: shuffled, weighted, class-cycling, mixed. With {@link Tail#PAD},
 * positions past the end wrap around to the start of the order. Memory and time are the order's;
 * each rank reads a plan of libtorch's in full.
 *
 * @param dataset the plan of the whole, undivided order, of at most 2<sup>62</sup> indices
 * @param part the part of this rank
 * @param tail the rule for an order that does not divide evenly among the ranks
 */
public record StridedSampler(Sampler dataset, Part part, Tail tail)
    implements Sampler, DividedPlan<Cursor> {
  /**
   * Creates a plan with the given tail.
   *
   * @param dataset the plan of the whole, undivided order
   * @param part the part of this rank
   * @param tail the rule for an order that does not divide evenly among the ranks
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public StridedSampler {
    requireNonNull(dataset, "dataset");
    requireNonNull(part, "part");
    requireNonNull(tail, "tail");
    Checks.requireDatasetSize(dataset.size());
    PlanChecks.requireDivisible(dataset, "dataset");
  }

  /**
   * Creates a plan that pads: each rank gets the same number of samples.
   *
   * @param dataset the plan of the whole, undivided order
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  public static StridedSampler of(Sampler dataset, Part part) {
    requireNonNull(dataset, "dataset");
    return new StridedSampler(dataset, part, Tail.PAD);
  }

  /**
   * Returns this plan with another tail; {@link Tail#PAD} by default.
   *
   * @param tail the rule for an order that does not divide evenly among the ranks
   * @return the new plan
   */
  public StridedSampler withTail(Tail tail) {
    return new StridedSampler(dataset, part, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(dataset.size(), part, tail);
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return Stride.open(this, () -> PositionCursor.over(dataset, epoch), dataset.size(), before);
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
    return PlanChecks.dividedOrder(dataset, "strided", "tail").with("tail", tail);
  }
}
