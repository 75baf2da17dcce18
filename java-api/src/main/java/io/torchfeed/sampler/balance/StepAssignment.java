// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

/**
 * The method of dividing the samples of a step over the ranks. Either is followed by swaps between
 * the most and the least expensive rank, until none brings them closer.
 */
enum StepAssignment {
  /**
   * The largest sample left goes to the rank with the smallest sum that still needs samples: LPT,
   * <i>longest processing time first</i>, with equal counts.
   */
  LARGEST_FIRST,

  /**
   * The differencing method of Karmarkar and Karp with equal counts, as in verl's {@code
   * seqlen_balancing.py}: slower, and only for states that were saved with it.
   */
  KARMARKAR_KARP
}
