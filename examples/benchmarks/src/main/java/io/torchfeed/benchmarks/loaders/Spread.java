// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.Arrays;
import java.util.Locale;

/** The median, lowest and highest value of some turns. */
record Spread(double median, double lowest, double highest) {
  /** Returns the spread of at least one value. */
  static Spread of(double... values) {
    if (values.length == 0) {
      throw new IllegalArgumentException("a spread needs at least one value");
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    return new Spread(median, sorted[0], sorted[sorted.length - 1]);
  }

  /** Returns the spread of the ratios of two series, turn by turn. */
  static Spread ofRatios(double[] over, double[] under) {
    if (over.length != under.length) {
      throw new IllegalArgumentException(
          "ratios need series of equal length, got %d and %d".formatted(over.length, under.length));
    }
    double[] ratios = new double[over.length];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = over[i] / under[i];
    }
    return of(ratios);
  }

  /** Returns the median, lowest and highest value, each in the given format. */
  String text(String format) {
    return String.format(
        Locale.ROOT, format + " (" + format + ", " + format + ")", median, lowest, highest);
  }
}
