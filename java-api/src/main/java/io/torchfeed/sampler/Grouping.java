// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** Which samples a balanced plan brings together in a step. */
public enum Grouping {
  /**
   * Samples of all costs: every step has about the same share of cheap and dear ones, drawn anew in
   * each epoch, so that steps take equally long.
   */
  MIXED,

  /**
   * Samples of similar cost, so that little is padded to the longest sample of a batch; the steps
   * themselves come in random order.
   */
  BUCKETED
}
