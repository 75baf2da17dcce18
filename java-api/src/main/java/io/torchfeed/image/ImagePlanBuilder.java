// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.PlanArguments.requireAreas;
import static io.torchfeed.image.PlanArguments.requireCorner;
import static io.torchfeed.image.PlanArguments.requireSide;
import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * A builder of an {@link ImagePlan}. The image is cut and scaled first, wherever these calls are.
 * The steps of {@link ImageSteps} follow in the order of the calls, as often as they were called,
 * and then the normalization. This is the augmentation of SimCLR:
 *
 * <pre>{@code
 * ImagePlan plan =
 *     ImagePlan.builder()
 *         .randomResizedCrop(224, 224)
 *         .horizontalFlip(0.5)
 *         .randomApply(0.8, steps -> steps.colorJitter(0.8, 0.8, 0.8, 0.2))
 *         .randomGrayscale(0.2)
 *         .randomApply(0.5, steps -> steps.gaussianBlur(23, 0.1, 2))
 *         .build();
 * }</pre>
 *
 * <p>Not thread-safe.
 */
public final class ImagePlanBuilder extends ImageSteps<ImagePlanBuilder> {
  private final Set<String> called = new HashSet<>();
  private final PlanScaling scaling = new PlanScaling();
  private final PlanSize size = new PlanSize();
  private final List<double[]> lastErasing = new ArrayList<>();
  private DoubleStream normalization = DoubleStream.empty();
  private long maxPixels = PlanArguments.MAX_PIXELS;
  private boolean isCropRandom;

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
   * Chooses whether the filter is widened when an image shrinks, so that no pixel is skipped; by
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
   * Scales the whole image to a size, whatever its proportions: {@code Resize((height, width))}.
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
   * Scales the image, with its proportions, before a {@link #centerCrop} or {@link #crop}: {@code
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
   * Cuts out the middle, with black around a smaller image: {@code CenterCrop((height, width))}.
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
   * Cuts out a fixed part, with black where it exceeds the image: {@code crop(top, left, height,
   * width)} of torchvision's {@code transforms.functional}.
   *
   * @param top the first row of the image, in [-65535, 65535]
   * @param left the first column of the image, in [-65535, 65535]
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
   * Sets the largest number of pixels of an image, before and after it is scaled; larger ones are
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
   * @param minArea the smallest share of the area of the image, in [0, maxArea]
   * @param maxArea the largest share of the area of the image, in [minArea, 1]
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
    isCropRandom = true;
    return this;
  }

  /**
   * Sets a random rectangle of 2 % to 33 % of the result to 0: {@code RandomErasing(probability)}
   * after all other steps, where 0 is the mean color if the plan normalizes.
   *
   * @param probability of an erased rectangle, in [0, 1]
   * @return this builder
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if the plan was built before
   */
  public ImagePlanBuilder randomErasing(double probability) {
    return randomErasing(probability, 0.02, 0.33);
  }

  /**
   * Sets a random rectangle of the result to 0, with a ratio of height to width from 0.3 to 3.3:
   * {@code RandomErasing(probability, (minArea, maxArea))} after all other steps, where 0 is the
   * mean color if the plan normalizes.
   *
   * @param probability of an erased rectangle, in [0, 1]
   * @param minArea the smallest share of the area of the result, in [0, maxArea]
   * @param maxArea the largest share of the area of the result, in [minArea, 1]
   * @return this builder
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if the plan was built before
   */
  public ImagePlanBuilder randomErasing(double probability, double minArea, double maxArea) {
    requireOpen();
    lastErasing.add(
        PlanArguments.erasing(torchfeed.kPlanRandomErasingToZero, probability, minArea, maxArea));
    return this;
  }

  /**
   * Turns and reflects the image as its EXIF data says, before everything else, as Pillow's {@code
   * ImageOps.exif_transpose}. Without this step, orientations are ignored, as in torchvision.
   * Damaged data counts as none, and orientations in XMP data are ignored.
   *
   * @return this builder
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder exifOrientation() {
    once("exifOrientation");
    return this;
  }

  /**
   * Takes grey pixels of 16 bits as Pillow's {@code convert("RGB")} and so torchvision's {@code
   * ImageFolder} do: values above 255 become 255. Without this step, their high byte counts, which
   * keeps the image; Pillow's way keeps labels and depths up to 255 that were stored in 16 bits.
   *
   * @return this builder
   * @throws IllegalStateException if it was called before
   */
  public ImagePlanBuilder clipGrey16() {
    once("clipGrey16");
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
    requireNonNull(std, "std");
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
   * @throws IllegalArgumentException if {@code antialias(false)} does not fit the scaling, or a
   *     blur's kernel has more than twice as many pixels as a side of the row
   * @throws IllegalStateException if no step decides the size, {@code resizeShortSide} is without a
   *     centerCrop or crop, a row takes 2^31 bytes or more, or the plan was built before
   */
  public ImagePlan build() {
    RowSpec row = size.row(called.contains("normalize") ? DType.FLOAT32 : DType.UINT8);
    DoubleStream scale = scaling.step();
    requireKernel(row);
    once("build");
    DoubleStream.Builder first = DoubleStream.builder();
    if (called.contains("exifOrientation")) {
      first.add(torchfeed.kPlanExifOrientation);
    }
    if (called.contains("clipGrey16")) {
      first.add(torchfeed.kPlanClipGray16);
    }
    if (called.contains("maxPixels")) {
      first.add(torchfeed.kPlanMaxPixels).add((double) maxPixels);
    }
    double[] steps =
        Stream.of(
                first.build(),
                scale,
                size.steps(),
                numbers(),
                lastErasing.stream().flatMapToDouble(Arrays::stream),
                normalization)
            .flatMapToDouble(Function.identity())
            .toArray();
    boolean isRandom = isCropRandom || drawsNumbers() || !lastErasing.isEmpty();
    return new ImagePlan(steps, row, isRandom, maxPixels);
  }

  @Override
  ImagePlanBuilder self() {
    return this;
  }

  @Override
  void requireOpen() {
    if (called.contains("build")) {
      throw new IllegalStateException("the plan was built before; begin with another builder");
    }
  }

  /** An image is reflected at its borders once. */
  private void requireKernel(RowSpec row) {
    long height = row.shape().get(1);
    long width = row.shape().get(2);
    if (maxKernel() / 2 >= Math.min(height, width)) {
      throw new IllegalArgumentException(
          "the kernel of gaussianBlur must be smaller than twice each side of the row, %dx%d, got %d"
              .formatted(height, width, maxKernel()));
    }
  }

  private void once(String step) {
    requireOpen();
    if (!called.add(step)) {
      throw new IllegalStateException(step + " was called before");
    }
  }
}
