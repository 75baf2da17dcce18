// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.cursor.Continuation;
import java.util.List;

/**
 * One rank's part of an order that all ranks share, divided by the plan's own rule. A plan states
 * its {@link #part}, its {@link #tail}, the parameters of the {@link #order}, and how it opens a
 * part ({@link #openPart}); {@link #epoch}, {@link #resume} and {@link #parameters} follow from
 * these.
 *
 * <p>{@link io.torchfeed.sampler.order.StridedSampler} divides any order round-robin, and {@link
 * io.torchfeed.sampler.order.DividedSampler} is the base of samplers with a rule of your own for
 * the samples of one step.
 *
 * @param <C> the cursors of the plan
 */
public interface DividedPlan<C extends Seekable> extends Plan<C> {
  /**
   * Opens this rank's part of the samples that other numbers of ranks left of an epoch. The caller
   * owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0
   * @param before the delivered parts, the oldest first: none is empty, and neighbours differ in
   *     world size; empty for a whole epoch
   * @return a new cursor at position 0
   * @throws IllegalArgumentException if a segment exceeds the rest at its start
   * @throws IllegalStateException if the order needs more memory than is available
   */
  C openPart(long epoch, List<EpochSegment> before);

  @Override
  PlanParameters order();

  @Override
  Part part();

  @Override
  Tail tail();

  /**
   * Returns the largest number of ranks among which an epoch can be divided; {@link #resume}
   * refuses segments of more.
   *
   * @return the limit, at least the world size of {@link #part}; by default none
   */
  default int maxWorldSize() {
    return Integer.MAX_VALUE;
  }

  @Override
  default C epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  default C resume(long epoch, List<EpochSegment> delivered) {
    requireNonNull(delivered, "delivered");
    Checks.requireEpoch(epoch);
    for (EpochSegment segment : Checks.copyOf("delivered", delivered)) {
      Checks.requireWorldSize(segment.worldSize(), maxWorldSize());
    }
    return Continuation.of(this, epoch, delivered, before -> openPart(epoch, before));
  }

  @Override
  default PlanParameters parameters() {
    return order().with(part());
  }
}
