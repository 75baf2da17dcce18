// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/**
 * One rank's part of an order that all ranks share.
 *
 * <p>The order itself ({@link #order}) does not depend on rank or world size, so what is left of an
 * epoch can be divided again when the number of ranks changes.
 */
public interface DistributedSampler extends Sampler {
  /**
   * The number of ranks.
   *
   * @return the world size, at least 1
   */
  int worldSize();

  /**
   * The rank whose part this is.
   *
   * @return the rank, in [0, worldSize() - 1]
   */
  int rank();

  /**
   * The parameters of the order that is divided: equal on all ranks, and for every world size.
   *
   * @return {@link #parameters} less rank and world size
   */
  PlanParameters order();

  /**
   * Opens this rank's part of what other numbers of ranks have left of an epoch. Over all segments
   * and this part together, each sample is delivered as often as in an undisturbed epoch, apart
   * from padding (old padding is discarded, the new end is padded anew) or a dropped tail.
   *
   * <p>Positions of the cursor count from the start of this part.
   *
   * @param epoch the number of the epoch, at least 0
   * @param delivered what was delivered, the oldest part first; empty for a whole epoch
   * @return a new cursor over this rank's part of the rest
   * @throws IllegalArgumentException if {@code epoch} is negative, or a segment is longer than what
   *     the ones before it left
   */
  Cursor resume(long epoch, List<Segment> delivered);
}
