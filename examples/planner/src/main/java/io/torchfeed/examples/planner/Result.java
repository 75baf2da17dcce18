// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import io.torchfeed.sampler.balance.BalanceReport;

/**
 * The planned epoch of a sampler.
 *
 * @param name the name of the sampler
 * @param report the report on its plan
 * @param speedUp speed-up of an epoch over the first sampler, if a rank's time is its real cost
 * @param paddedSpeedUp the same if a rank's time is its padded cost
 */
record Result(String name, BalanceReport report, double speedUp, double paddedSpeedUp) {
  static Result of(String name, BalanceReport report, BalanceReport first) {
    return new Result(
        name,
        report,
        ratio(first.slowestCost(), report.slowestCost()),
        ratio(first.slowestPaddedCost(), report.slowestPaddedCost()));
  }

  private static double ratio(double first, double other) {
    return other == 0 ? 1 : first / other;
  }
}
