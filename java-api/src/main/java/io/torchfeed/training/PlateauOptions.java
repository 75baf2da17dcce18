// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

/**
 * When and how far a {@link Plateau} falls. Immutable: each {@code with} method returns new
 * options.
 */
public final class PlateauOptions {
  final double gamma;
  final int patience;
  final double threshold;
  final int cooldown;
  final double lowest;

  private PlateauOptions(
      double gamma, int patience, double threshold, int cooldown, double lowest) {
    this.gamma = gamma;
    this.patience = patience;
    this.threshold = threshold;
    this.cooldown = cooldown;
    this.lowest = lowest;
  }

  /**
   * Returns the default options.
   *
   * @return the factor is multiplied by 0.1 after more than 10 reports in a row that are not better
   *     than the best one by a part of 1e-4
   */
  public static PlateauOptions defaults() {
    return new PlateauOptions(0.1, 10, 1e-4, 0, 0);
  }

  /**
   * Returns these options with another number by which the factor is multiplied.
   *
   * @param gamma in [0, 1)
   * @return the options
   * @throws IllegalArgumentException if the number is outside of its range
   */
  public PlateauOptions withGamma(double gamma) {
    if (!(gamma >= 0 && gamma < 1)) {
      throw new IllegalArgumentException("gamma must be in [0, 1), got " + gamma);
    }
    return new PlateauOptions(gamma, patience, threshold, cooldown, lowest);
  }

  /**
   * Returns these options with another number of reports that change nothing.
   *
   * @param reports how many in a row may be no better than the best one; at least 0
   * @return the options
   * @throws IllegalArgumentException if the number is negative
   */
  public PlateauOptions withPatience(int reports) {
    requireCount("reports", reports);
    return new PlateauOptions(gamma, reports, threshold, cooldown, lowest);
  }

  /**
   * Returns these options with another part of the best value by which a better one differs.
   *
   * @param part in [0, 1): a loss is better below {@code best * (1 - part)}, a score above {@code
   *     best * (1 + part)}
   * @return the options
   * @throws IllegalArgumentException if the part is outside of its range
   */
  public PlateauOptions withThreshold(double part) {
    if (!(part >= 0 && part < 1)) {
      throw new IllegalArgumentException("part must be in [0, 1), got " + part);
    }
    return new PlateauOptions(gamma, patience, part, cooldown, lowest);
  }

  /**
   * Returns these options with a number of reports after a fall that count as good ones.
   *
   * @param reports at least 0
   * @return the options
   * @throws IllegalArgumentException if the number is negative
   */
  public PlateauOptions withCooldown(int reports) {
    requireCount("reports", reports);
    return new PlateauOptions(gamma, patience, threshold, reports, lowest);
  }

  /**
   * Returns these options with a lowest factor.
   *
   * @param factor Python's {@code min_lr}, divided by the rate of the optimizer; in [0, 1]
   * @return the options
   * @throws IllegalArgumentException if the factor is outside of its range
   */
  public PlateauOptions withLowest(double factor) {
    if (!(factor >= 0 && factor <= 1)) {
      throw new IllegalArgumentException("factor must be in [0, 1], got " + factor);
    }
    return new PlateauOptions(gamma, patience, threshold, cooldown, factor);
  }

  private static void requireCount(String name, int value) {
    if (value < 0) {
      throw new IllegalArgumentException("%s must be at least 0, got %d".formatted(name, value));
    }
  }
}
