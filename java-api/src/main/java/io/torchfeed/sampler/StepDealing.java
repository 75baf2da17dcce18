// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * How the samples of a step are divided over the ranks. Either way swaps between the dearest and
 * the cheapest rank follow, until none brings them closer.
 */
public enum StepDealing {
  /**
   * The largest sample left goes to the rank with the smallest sum that still needs samples: LPT,
   * <i>longest processing time first</i>, with equal counts.
   */
  LARGEST_FIRST,

  /**
   * The differencing method of Karmarkar and Karp with equal counts, as verl has it in {@code
   * seqlen_balancing.py}. For comparison: it takes longer.
   */
  KARMARKAR_KARP
}
