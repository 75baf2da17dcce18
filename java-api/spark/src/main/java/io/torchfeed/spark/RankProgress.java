// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import java.util.Map;

/**
 * A report of a rank, which the driver receives while the job runs.
 *
 * @param rank the rank
 * @param attempt 0, or how often Spark has repeated the stage
 * @param epoch the epoch, from 0 on
 * @param metrics figures by name
 */
public record RankProgress(int rank, int attempt, long epoch, Map<String, Double> metrics) {
  /**
   * Creates a report.
   *
   * @param rank the rank
   * @param attempt 0, or how often Spark has repeated the stage
   * @param epoch the epoch, from 0 on
   * @param metrics figures by name; copied
   */
  public RankProgress {
    metrics = Map.copyOf(requireNonNull(metrics, "metrics"));
  }
}
