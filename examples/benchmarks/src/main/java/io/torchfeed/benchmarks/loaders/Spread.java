// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.Arrays;
import java.util.Locale;

/** The median of some turns, their lowest and their highest. */
record Spread(double median, double lowest, double highest) {
  /** Of at least one value. */
  static Spread of(double... values) {
    if (values.length == 0) {
      throw new IllegalArgumentException("a spread needs at least one value");
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    return new Spread(median, sorted[0], sorted[sorted.length - 1]);
  }

  /** The ratios of two series, turn by turn. */
  static Spread ofRatios(double[] over, double[] under) {
    if (over.length != under.length) {
      throw new IllegalArgumentException(
          "ratios are taken within turns, got %d and %d".formatted(over.length, under.length));
    }
    double[] ratios = new double[over.length];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = over[i] / under[i];
    }
    return of(ratios);
  }

  /** Median, lowest and highest, each as the format says. */
  String text(String format) {
    return String.format(
        Locale.ROOT, format + " (" + format + ", " + format + ")", median, lowest, highest);
  }
}
