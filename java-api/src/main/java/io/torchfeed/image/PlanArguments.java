// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.util.Arrays;

/** The ranges of the arguments of an {@link ImagePlanBuilder}. */
final class PlanArguments {
  static final int CHANNELS = 3;

  /** Pixels of the largest picture that is decoded, as in native code. */
  static final long MAX_PIXELS = 178_956_970;

  private static final int MAX_SIDE = 65535;

  private PlanArguments() {}

  static void requireSide(int side) {
    if (side < 1 || side > MAX_SIDE) {
      throw new IllegalArgumentException(
          "a side must have from 1 to %d pixels, got %d".formatted(MAX_SIDE, side));
    }
  }

  static void requireProbability(double probability) {
    if (!(probability >= 0 && probability <= 1)) {
      throw new IllegalArgumentException("probability must be in [0, 1], got " + probability);
    }
  }

  static void requireAreas(double minArea, double maxArea) {
    if (!(0 <= minArea && minArea <= maxArea && maxArea <= 1)) {
      throw new IllegalArgumentException(
          "minArea and maxArea must be ascending in [0, 1], got %s and %s"
              .formatted(minArea, maxArea));
    }
  }

  static void requireFactor(double factor) {
    if (!(factor >= 0 && factor < 1e6)) {
      throw new IllegalArgumentException("a factor must be in [0, 1e6), got " + factor);
    }
  }

  static void requireNormalization(float[] mean, float[] std) {
    requireChannels("mean", mean);
    requireChannels("std", std);
    for (float channel : std) {
      if (channel == 0) {
        throw new IllegalArgumentException("std must not be 0, got " + Arrays.toString(std));
      }
    }
  }

  private static void requireChannels(String name, float[] channels) {
    if (channels.length != CHANNELS) {
      throw new IllegalArgumentException(
          "%s must have 3 numbers, got %d".formatted(name, channels.length));
    }
    for (float channel : channels) {
      if (!Float.isFinite(channel)) {
        throw new IllegalArgumentException(
            "%s must be finite, got %s".formatted(name, Arrays.toString(channels)));
      }
    }
  }
}
