// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.PlanArguments.CHANNELS;
import static io.torchfeed.image.PlanArguments.requireAreas;
import static io.torchfeed.image.PlanArguments.requireCorner;
import static io.torchfeed.image.PlanArguments.requireProbability;
import static io.torchfeed.image.PlanArguments.requireSide;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * A builder of an {@link ImagePlan}; each step may be added once. Whatever the order of the calls,
 * the picture is cut and scaled first, then reflected, then its colors change in the order of the
 * calls, then a part may be erased, and it is normalized last. Not thread-safe.
 */
public final class ImagePlanBuilder {
  private final Set<String> called = new HashSet<>();
  private final PlanScaling scaling = new PlanScaling();
  private final PlanSize size = new PlanSize();
  private DoubleStream flips = DoubleStream.empty();
  private DoubleStream colors = DoubleStream.empty();
  private DoubleStream erasing = DoubleStream.empty();
  private DoubleStream normalization = DoubleStream.empty();
  private long maxPixels = PlanArguments.MAX_PIXELS;
  private boolean isRandom;

  ImagePlanBuilder() {}

  /**
   * Chooses how sizes are changed; by default as Pillow 13 does with {@link ImageFilter#BILINEAR}.
   *
   * @param dialect the program whose pixels are reproduced
   * @param filter the filter
   * @return this builder
   * @throws IllegalArgumentException if the program does not have this filter
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder scaling(ImageDialect dialect, ImageFilter filter) {
    PlanScaling.requireFilter(dialect, filter);
    once("scaling");
    scaling.choose(dialect, filter);
    return this;
  }

  /**
   * Chooses whether the filter is widened when a picture shrinks, so that no pixel is skipped; by
   * default it is. Without, each pixel is made of at most four, as by torchvision's {@code
   * resize(..., antialias=False)}: only with {@link ImageDialect#TORCHVISION} and {@link
   * ImageFilter#BILINEAR}, which {@link #build} requires.
   *
   * @param antialias whether to widen the filter
   * @return this builder
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder antialias(boolean antialias) {
    once("antialias");
    scaling.antialias(antialias);
    return this;
  }

  /**
   * Scales the whole picture to a size, whatever its proportions: {@code Resize((height, width))}.
   *
   * @param height the height of the result in pixels, in [1, 65535]
   * @param width the width of the result in pixels, in [1, 65535]
   * @return this builder
   * @throws IllegalArgumentException if a side is out of range
   * @throws IllegalStateException if another step decides the size
   */
  public ImagePlanBuilder resize(int height, int width) {
    size.add("resize", height, width, torchfeed.kPlanResize);
    return this;
  }

  /**
   * Scales the picture, with its proportions, before a {@link #centerCrop} or {@link #crop}: {@code
   * Resize(side)}.
   *
   * @param side the length of the shorter side in pixels, in [1, 65535]
   * @return this builder
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder resizeShortSide(int side) {
    requireSide(side);
    once("resizeShortSide");
    size.addShortSide(side);
    return this;
  }

  /**
   * Cuts out the middle, with black around a smaller picture: {@code CenterCrop((height, width))}.
   *
   * @param height the height of the result in pixels, in [1, 65535]
   * @param width the width of the result in pixels, in [1, 65535]
   * @return this builder
   * @throws IllegalArgumentException if a side is out of range
   * @throws IllegalStateException if another step decides the size
   */
  public ImagePlanBuilder centerCrop(int height, int width) {
    size.add("centerCrop", height, width, torchfeed.kPlanCenterCrop);
    return this;
  }

  /**
   * Cuts out a fixed part, with black where it exceeds the picture: {@code crop(top, left, height,
   * width)} of torchvision's {@code transforms.functional}.
   *
   * @param top the first row of the picture, in [-65535, 65535]
   * @param left the first column of the picture, in [-65535, 65535]
   * @param height the height of the result in pixels, in [1, 65535]
   * @param width the width of the result in pixels, in [1, 65535]
   * @return this builder
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if another step decides the size
   */
  public ImagePlanBuilder crop(int top, int left, int height, int width) {
    requireCorner(top, left);
    size.add("crop", height, width, torchfeed.kPlanCrop, top, left);
    return this;
  }

  /**
   * Sets the largest number of pixels of a picture, before and after it is scaled; larger ones are
   * refused, as by Pillow's {@code MAX_IMAGE_PIXELS}. By default 178,956,970, where Pillow refuses.
   *
   * @param pixels the limit, in [1, 65535 * 65535]
   * @return this builder
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder maxPixels(long pixels) {
    PlanArguments.requireMaxPixels(pixels);
    once("maxPixels");
    maxPixels = pixels;
    return this;
  }

  /**
   * Cuts out a random part of 8 % to 100 % of the area and a ratio of width to height from 3/4 to
   * 4/3, and scales it: {@code RandomResizedCrop((height, width))}.
   *
   * @param height the height of the result in pixels, in [1, 65535]
   * @param width the width of the result in pixels, in [1, 65535]
   * @return this builder
   * @throws IllegalArgumentException if a side is out of range
   * @throws IllegalStateException if another step decides the size
   */
  public ImagePlanBuilder randomResizedCrop(int height, int width) {
    return randomResizedCrop(height, width, 0.08, 1);
  }

  /**
   * Cuts out a random part with a ratio of width to height from 3/4 to 4/3, and scales it: {@code
   * RandomResizedCrop((height, width), (minArea, maxArea))}.
   *
   * @param height the height of the result in pixels, in [1, 65535]
   * @param width the width of the result in pixels, in [1, 65535]
   * @param minArea the smallest share of the area of the picture, in [0, maxArea]
   * @param maxArea the largest share of the area of the picture, in [minArea, 1]
   * @return this builder
   * @throws IllegalArgumentException if a side or a share is out of range
   * @throws IllegalStateException if another step decides the size
   */
  public ImagePlanBuilder randomResizedCrop(int height, int width, double minArea, double maxArea) {
    requireAreas(minArea, maxArea);
    size.add(
        "randomResizedCrop",
        height,
        width,
        torchfeed.kPlanRandomResizedCrop,
        minArea,
        maxArea,
        3.0 / 4.0,
        4.0 / 3.0);
    isRandom = true;
    return this;
  }

  /**
   * Reflects pictures left-right: {@code RandomHorizontalFlip(probability)}.
   *
   * @param probability of a reflection, in [0, 1]
   * @return this builder
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder horizontalFlip(double probability) {
    return flip("horizontalFlip", torchfeed.kPlanHorizontalFlip, probability);
  }

  /**
   * Reflects pictures top-bottom: {@code RandomVerticalFlip(probability)}.
   *
   * @param probability of a reflection, in [0, 1]
   * @return this builder
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder verticalFlip(double probability) {
    return flip("verticalFlip", torchfeed.kPlanVerticalFlip, probability);
  }

  /**
   * Changes the colors by random factors, in a random order: {@code ColorJitter(brightness,
   * contrast, saturation, hue)}, with the pixels of torchvision on uint8 tensors.
   *
   * @param brightness the largest difference of the factor from 1, in [0, 1e6); 0 for no change
   * @param contrast likewise
   * @param saturation likewise
   * @param hue the largest turn of the color circle, in [0, 0.5]; 0 for no change
   * @return this builder
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder colorJitter(
      double brightness, double contrast, double saturation, double hue) {
    return color("colorJitter", PlanArguments.jitter(brightness, contrast, saturation, hue));
  }

  /**
   * Applies random operations of one strength: {@code RandAugment(operations, magnitude)}, with the
   * pixels of torchvision on uint8 tensors.
   *
   * @param operations the number of operations, in [0, 100]; 2 in torchvision
   * @param magnitude the strength, in [0, 30]; 9 in torchvision
   * @return this builder
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder randAugment(int operations, int magnitude) {
    return color("randAugment", PlanArguments.augment(operations, magnitude));
  }

  /**
   * Applies one random operation of random strength: {@code TrivialAugmentWide()}, with the pixels
   * of torchvision on uint8 tensors.
   *
   * @return this builder
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder trivialAugmentWide() {
    return color(
        "trivialAugmentWide",
        DoubleStream.of(torchfeed.kPlanTrivialAugmentWide, PlanArguments.BINS));
  }

  /**
   * Sets a random rectangle of 2 % to 33 % of the result to 0: {@code RandomErasing(probability)}
   * after the normalization, if there is one, where 0 is the mean color.
   *
   * @param probability of an erased rectangle, in [0, 1]
   * @return this builder
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder randomErasing(double probability) {
    return randomErasing(probability, 0.02, 0.33);
  }

  /**
   * Sets a random rectangle of the result to 0, with a ratio of height to width from 0.3 to 3.3:
   * {@code RandomErasing(probability, (minArea, maxArea))} after the normalization, if there is
   * one, where 0 is the mean color.
   *
   * @param probability of an erased rectangle, in [0, 1]
   * @param minArea the smallest share of the area of the result, in [0, maxArea]
   * @param maxArea the largest share of the area of the result, in [minArea, 1]
   * @return this builder
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder randomErasing(double probability, double minArea, double maxArea) {
    return erasing(torchfeed.kPlanRandomErasingToZero, probability, minArea, maxArea);
  }

  /**
   * Fills a random rectangle with a color, before the normalization: {@code
   * RandomErasing(probability, (minArea, maxArea), value=color)} of bytes.
   *
   * @param probability of a filled rectangle, in [0, 1]
   * @param minArea the smallest share of the area of the result, in [0, maxArea]
   * @param maxArea the largest share of the area of the result, in [minArea, 1]
   * @param color red, green and blue, each in [0, 255]
   * @return this builder
   * @throws IllegalArgumentException if a number is out of range, or there are not three colors
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder randomErasing(
      double probability, double minArea, double maxArea, int... color) {
    if (color.length != CHANNELS || Arrays.stream(color).anyMatch(c -> c < 0 || c > 255)) {
      throw new IllegalArgumentException(
          "color must have 3 numbers in [0, 255], got " + Arrays.toString(color));
    }
    erasing(torchfeed.kPlanRandomErasing, probability, minArea, maxArea);
    erasing = DoubleStream.concat(erasing, Arrays.stream(color).asDoubleStream());
    return this;
  }

  /**
   * Turns and reflects the picture as its EXIF data says, before everything else, as Pillow's
   * {@code ImageOps.exif_transpose}. Without this step, orientations are ignored, as in
   * torchvision. Damaged data counts as none, and orientations in XMP data are ignored.
   *
   * @return this builder
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder exifOrientation() {
    once("exifOrientation");
    return this;
  }

  /**
   * Makes floats: {@code (byte / 255 - mean) / std} for each channel, every operation rounded to
   * float32. With mean 0 and standard deviation 1 the result is in [0, 1].
   *
   * @param mean of red, green and blue
   * @param std the standard deviation of red, green and blue, not 0
   * @return this builder
   * @throws IllegalArgumentException if there are not three numbers each, one is not finite, or
   *     {@code std} has a 0
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder normalize(float[] mean, float[] std) {
    PlanArguments.requireNormalization(mean, std);
    once("normalize");
    normalization =
        DoubleStream.of(
            torchfeed.kPlanNormalize, mean[0], mean[1], mean[2], std[0], std[1], std[2]);
    return this;
  }

  /**
   * Builds the plan, once.
   *
   * @return the plan
   * @throws IllegalArgumentException if {@code antialias(false)} does not fit the scaling
   * @throws IllegalStateException if no step decides the size, {@code resizeShortSide} is without a
   *     centerCrop or crop, a row takes 2^31 bytes or more, or the plan was built before
   */
  public ImagePlan build() {
    RowSpec row = size.row(called.contains("normalize") ? DType.FLOAT32 : DType.UINT8);
    DoubleStream scale = scaling.step();
    once("build");
    DoubleStream.Builder first = DoubleStream.builder();
    if (called.contains("exifOrientation")) {
      first.add(torchfeed.kPlanExifOrientation);
    }
    if (called.contains("maxPixels")) {
      first.add(torchfeed.kPlanMaxPixels).add((double) maxPixels);
    }
    double[] steps =
        Stream.of(first.build(), scale, size.steps(), flips, colors, erasing, normalization)
            .flatMapToDouble(Function.identity())
            .toArray();
    return new ImagePlan(steps, row, isRandom, maxPixels);
  }

  private void once(String step) {
    if (called.contains("build")) {
      throw new IllegalStateException("the plan was built before; begin with another builder");
    }
    if (!called.add(step)) {
      throw new IllegalStateException(step + " was called before");
    }
  }

  private ImagePlanBuilder erasing(int number, double probability, double minArea, double maxArea) {
    requireProbability(probability);
    requireAreas(minArea, maxArea);
    once("randomErasing");
    isRandom = true;
    erasing = DoubleStream.of(number, probability, minArea, maxArea, 0.3, 3.3);
    return this;
  }

  private ImagePlanBuilder flip(String step, int number, double probability) {
    requireProbability(probability);
    once(step);
    isRandom = true;
    flips = DoubleStream.concat(flips, DoubleStream.of(number, probability));
    return this;
  }

  private ImagePlanBuilder color(String step, DoubleStream numbers) {
    once(step);
    isRandom = true;
    colors = DoubleStream.concat(colors, numbers);
    return this;
  }
}
