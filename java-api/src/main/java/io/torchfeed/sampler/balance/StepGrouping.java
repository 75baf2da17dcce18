// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

/** The rule by which a balanced plan groups samples into steps. */
public enum StepGrouping {
  /**
   * Samples of all costs: every step has about the same mix of cheap and expensive ones, drawn
   * again in each epoch, so that all steps take equally long.
   */
  MIXED,

  /**
   * Samples of similar cost, so that little padding to the longest sample of a batch is needed; the
   * steps themselves come in random order.
   */
  BUCKETED
}
