// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import io.torchfeed.sampler.balance.BalanceReport;
import java.util.List;
import java.util.Locale;

/** The results as a text table. */
final class ResultTable {
  private static final String HEAD =
      """
                            step imbalance: slowest rank / mean                  same     speed-up
                              real cost        padded cost      padding  mates  over random
      sampler          steps   mean     p99     mean     p99     share   again  real  padded
      """;

  private ResultTable() {}

  static String of(List<Result> results) {
    StringBuilder text = new StringBuilder(HEAD);
    for (Result result : results) {
      BalanceReport report = result.report();
      text.append(
          String.format(
              Locale.ROOT,
              "%-16s %5d %7.4f %7.4f  %7.4f %7.4f  %6.2f %%  %5.2f %%  %4.2f  %5.2f%n",
              result.name(),
              report.steps(),
              report.real().mean(),
              report.real().p99(),
              report.padded().mean(),
              report.padded().p99(),
              100 * report.padding(),
              100 * report.randomness().batchMates(),
              result.speedUp(),
              result.paddedSpeedUp()));
    }
    return text.toString();
  }
}
