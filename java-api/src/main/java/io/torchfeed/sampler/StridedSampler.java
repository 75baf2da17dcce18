// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * Any order dealt over the ranks by stride: rank r of W has the positions r, r+W, r+2W, …, so that
 * step k of all ranks together is a consecutive piece of the order.
 *
 * <p>PyTorch's {@code DistributedSampler} divides its order in this way; here the order may be any
 * plan over the whole dataset: shuffled, weighted, class-cycling, mixed. With {@link Tail#PAD}
 * positions behind the end count on from the start of the order. Memory and time are those of the
 * order; a plan of libtorch's is read as a whole by each rank.
 *
 * @param dataset the plan of the whole order, of at most 2<sup>62</sup> indices, which does not
 *     divide it itself
 * @param worldSize number of ranks, at least 1
 * @param rank this rank, in [0, worldSize - 1]
 * @param tail what happens when the ranks do not divide the order
 */
public record StridedSampler(Sampler dataset, int worldSize, int rank, Tail tail)
    implements DistributedSampler {
  /**
   * A plan with the given tail.
   *
   * @param dataset the plan of the whole order, which does not divide it itself
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param tail what happens when the ranks do not divide the order
   * @throws IllegalArgumentException if an argument is outside of its range, or {@code dataset} is
   *     one rank's plan already
   */
  public StridedSampler {
    requireNonNull(tail, "tail");
    Arguments.requireRank(dataset.size(), worldSize, rank);
    Orders.requireDealable(dataset, "dataset");
  }

  /**
   * A plan that pads: each rank gets the same number of samples.
   *
   * @param dataset the plan of the whole order, which does not divide it itself
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @throws IllegalArgumentException if an argument is outside of its range, or {@code dataset} is
   *     one rank's plan already
   */
  public StridedSampler(Sampler dataset, int worldSize, int rank) {
    this(dataset, worldSize, rank, Tail.PAD);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(dataset.size(), worldSize, rank, tail);
  }

  @Override
  public Cursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    return Stride.open(
        this, () -> PositionCursor.over(dataset, epoch), dataset.size(), tail, delivered);
  }

  @Override
  public PlanParameters order() {
    return Orders.dealt(dataset, "strided", "tail").with("tail", tail);
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }
}
