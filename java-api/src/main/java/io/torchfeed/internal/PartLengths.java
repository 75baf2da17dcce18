// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/** The number of samples in each part of a split dataset. */
public final class PartLengths {
  /**
   * The maximum distance of a sum of fractions from 1: the tolerance of Python's {@code isclose}.
   */
  private static final double TOLERANCE = 1e-9;

  private PartLengths() {}

  /** Returns a copy of the lengths, which must sum to the size of the dataset. */
  public static long[] checked(int datasetSize, long[] lengths) {
    long left = datasetSize;
    for (int i = 0; i < lengths.length; i++) {
      if (lengths[i] < 0 || lengths[i] > left) {
        throw new IllegalArgumentException(
            ("lengths must be at least 0 and sum to %d, the size of the dataset, got %d at position"
                    + " %d")
                .formatted(datasetSize, lengths[i], i));
      }
      left -= lengths[i];
    }
    if (left > 0) {
      throw new IllegalArgumentException(
          "lengths must sum to %d, the size of the dataset, got %d"
              .formatted(datasetSize, datasetSize - left));
    }
    return lengths.clone();
  }

  /**
   * Returns the lengths of the fractions, rounded down, with the rest added one by one from the
   * first part on.
   */
  public static long[] ofFractions(int datasetSize, double[] fractions) {
    requireFractions(fractions);
    long[] lengths = new long[fractions.length];
    long left = datasetSize;
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = Math.min(left, (long) Math.floor(datasetSize * fractions[i]));
      left -= lengths[i];
    }
    for (int i = 0; left > 0; i = (i + 1) % lengths.length, left--) {
      lengths[i]++;
    }
    return lengths;
  }

  private static void requireFractions(double[] fractions) {
    double sum = 0;
    for (int i = 0; i < fractions.length; i++) {
      if (!(fractions[i] >= 0 && fractions[i] <= 1)) {
        throw new IllegalArgumentException(
            "fractions must be in [0, 1], got %s at position %d".formatted(fractions[i], i));
      }
      sum += fractions[i];
    }
    if (Math.abs(sum - 1) > TOLERANCE) {
      throw new IllegalArgumentException("fractions must sum to 1, got " + sum);
    }
  }
}
