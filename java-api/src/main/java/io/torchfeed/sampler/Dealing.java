// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.function.LongUnaryOperator;

/** How a list of positions of an order is dealt over ranks. Immutable. */
interface Dealing {
  /** A rule by which any list is dealt over any number of ranks. */
  @FunctionalInterface
  interface Rule {
    Dealing deal(Pieces list, int worldSize);
  }

  /** How many positions a rank gets, padding included. */
  long size(int rank);

  /** The size of the rank that gets most. */
  long longest();

  /** How many of a rank's positions are not padding; the others come last. */
  long own(int rank);

  /** From a rank's place, in [0, size(rank)), to the position in the order. */
  LongUnaryOperator part(int rank);

  /** What is left when each rank delivered that many positions, or all that it had. */
  Pieces rest(long delivered);
}
