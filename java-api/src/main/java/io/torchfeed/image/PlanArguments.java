// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.torchfeed;
import java.util.Arrays;
import java.util.stream.DoubleStream;

/** The ranges of the arguments of an {@link ImagePlanBuilder}. */
final class PlanArguments {
  static final int CHANNELS = 3;

  /** The number of magnitudes of augmentations, as in torchvision. */
  static final int BINS = 31;

  /** Pixels of the largest image that is decoded unless a plan sets it, as in native code. */
  static final long MAX_PIXELS = 178_956_970;

  private static final int MAX_SIDE = 65535;
  private static final int MAX_KERNEL = 255;
  private static final double MIN_SIGMA = 0.001;
  private static final double MAX_SIGMA = 1000;
  private static final int MAX_APPLIED = 1000;

  private PlanArguments() {}

  static void requireSide(int side) {
    if (side < 1 || side > MAX_SIDE) {
      throw new IllegalArgumentException(
          "a side must have from 1 to %d pixels, got %d".formatted(MAX_SIDE, side));
    }
  }

  static void requireCorner(int top, int left) {
    if (Math.abs((long) top) > MAX_SIDE || Math.abs((long) left) > MAX_SIDE) {
      throw new IllegalArgumentException(
          "top and left must be in [-%d, %d], got %d and %d"
              .formatted(MAX_SIDE, MAX_SIDE, top, left));
    }
  }

  static void requireMaxPixels(long pixels) {
    long most = (long) MAX_SIDE * MAX_SIDE;
    if (pixels < 1 || pixels > most) {
      throw new IllegalArgumentException(
          "maxPixels must be in [1, %d], got %d".formatted(most, pixels));
    }
  }

  /** Returns the numbers of a color jitter. */
  static double[] jitter(double brightness, double contrast, double saturation, double hue) {
    if (!(hue >= 0 && hue <= 0.5)) {
      throw new IllegalArgumentException("hue must be in [0, 0.5], got " + hue);
    }
    double[] factors = {brightness, contrast, saturation};
    DoubleStream step = DoubleStream.of(torchfeed.kPlanColorJitter);
    for (double factor : factors) {
      requireFactor(factor);
      double least = factor == 0 ? Double.NaN : Math.max(0, 1 - factor);
      step = DoubleStream.concat(step, DoubleStream.of(least, 1 + factor));
    }
    return DoubleStream.concat(step, DoubleStream.of(hue == 0 ? Double.NaN : -hue, hue)).toArray();
  }

  /** Returns the numbers of a random augmentation. */
  static double[] augment(int operations, int magnitude) {
    if (operations < 0 || operations > 100 || magnitude < 0 || magnitude >= BINS) {
      throw new IllegalArgumentException(
          "operations must be in [0, 100] and magnitude in [0, %d], got %d and %d"
              .formatted(BINS - 1, operations, magnitude));
    }
    return new double[] {torchfeed.kPlanRandAugment, operations, magnitude, BINS};
  }

  /** Returns the numbers of an erasing, without a color. */
  static double[] erasing(int number, double probability, double minArea, double maxArea) {
    requireProbability(probability);
    requireAreas(minArea, maxArea);
    return new double[] {number, probability, minArea, maxArea, 0.3, 3.3};
  }

  static void requireColor(int[] color) {
    if (color.length != CHANNELS || Arrays.stream(color).anyMatch(c -> c < 0 || c > 255)) {
      throw new IllegalArgumentException(
          "color must have 3 numbers in [0, 255], got " + Arrays.toString(color));
    }
  }

  static void requireBlur(int kernel, double sigmaMin, double sigmaMax) {
    if (kernel < 1 || kernel > MAX_KERNEL || kernel % 2 == 0) {
      throw new IllegalArgumentException(
          "kernel must be odd and in [1, %d], got %d".formatted(MAX_KERNEL, kernel));
    }
    if (!(MIN_SIGMA <= sigmaMin && sigmaMin <= sigmaMax && sigmaMax <= MAX_SIGMA)) {
      throw new IllegalArgumentException(
          "sigmaMin and sigmaMax must be ascending in [%s, %s], got %s and %s"
              .formatted(MIN_SIGMA, MAX_SIGMA, sigmaMin, sigmaMax));
    }
  }

  static void requireApplied(int steps) {
    if (steps < 1 || steps > MAX_APPLIED) {
      throw new IllegalArgumentException(
          "randomApply must have from 1 to %d steps, got %d".formatted(MAX_APPLIED, steps));
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
    requireChannels("mean", requireNonNull(mean, "mean"));
    requireChannels("std", requireNonNull(std, "std"));
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
