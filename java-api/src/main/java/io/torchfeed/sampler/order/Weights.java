// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.ContentHash;

/** The checked weights of samples, scaled so that the largest is 1. */
final class Weights {
  private final double[] scaled;
  private final int positive;
  private final String hash;

  private Weights(double[] scaled, int positive, String hash) {
    this.scaled = scaled;
    this.positive = positive;
    this.hash = hash;
  }

  static double[] widened(float[] weights) {
    double[] widened = new double[weights.length];
    for (int i = 0; i < widened.length; i++) {
      widened[i] = weights[i];
    }
    return widened;
  }

  static Weights of(double[] weights) {
    double[] scaled = weights.clone();
    ContentHash hash = new ContentHash().add(scaled.length);
    double largest = 0;
    for (int i = 0; i < scaled.length; i++) {
      double weight = scaled[i];
      if (!(weight >= 0) || weight == Double.POSITIVE_INFINITY) {
        throw new IllegalArgumentException(
            "a weight must be finite and at least 0, got %s at index %d".formatted(weight, i));
      }
      largest = Math.max(largest, weight);
      hash.add(weight + 0.0); // -0.0 counts as 0.0
    }
    requirePositive(scaled.length, largest);
    int positive = 0;
    for (int i = 0; i < scaled.length; i++) {
      // The sum of unscaled weights could be infinite.
      scaled[i] /= largest;
      if (scaled[i] > 0) {
        positive++;
      }
    }
    return new Weights(scaled, positive, hash.hex());
  }

  private static void requirePositive(int count, double largest) {
    if (count == 0) {
      throw new IllegalArgumentException("weights must not be empty: there is nothing to draw");
    }
    if (largest == 0) {
      throw new IllegalArgumentException(
          "at least one weight must be greater than 0, got %d weights of 0".formatted(count));
    }
  }

  int count() {
    return scaled.length;
  }

  /** Returns the number of weights greater than 0. */
  int positive() {
    return positive;
  }

  /** Returns a weight, in [0, 1]. */
  double get(int index) {
    return scaled[index];
  }

  String hash() {
    return hash;
  }
}
