// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import java.util.function.LongUnaryOperator;

/** A division of a list of positions of an order over ranks. Immutable. */
interface IndexPartition {
  /** A rule that divides any list over any number of ranks. */
  @FunctionalInterface
  interface Rule {
    IndexPartition divide(IndexRanges list, int worldSize);
  }

  /** Returns the number of positions of a rank, padding included. */
  long size(int rank);

  /** Returns the largest {@link #size} of any rank. */
  long longest();

  /** Returns the number of a rank's positions that are not padding; padding comes last. */
  long own(int rank);

  /** Returns the function from a rank's place, in [0, size(rank)), to the position in the order. */
  LongUnaryOperator part(int rank);

  /** Returns the rest after each rank has delivered this many positions, or all that it had. */
  IndexRanges rest(long delivered);
}
