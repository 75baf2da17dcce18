// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.torchfeed;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A transform of each row of a column, which native code applies while it gathers a batch: crop,
 * reflect, scale, normalize, cast.
 *
 * <pre>{@code
 * RowTransform normalize =
 *     RowTransform.builder()
 *         .randomCrop(32, 32, 4)
 *         .horizontalFlip(0.5)
 *         .scale(1f / 255f)
 *         .normalize(new float[] {0.49f, 0.48f, 0.45f}, new float[] {0.25f, 0.24f, 0.26f})
 *         .build();
 * NativeDataset normalized = images.transform(0, normalize);
 * }</pre>
 *
 * <p>Rows are {@code [..., height, width]} of uint8, int8, int16, uint16, int32, uint32, int64,
 * float32 or float64. Numbers to be scaled or normalized become float32 first, and every operation
 * is rounded to float32, as in torch. Random steps have the formulas of torchvision 0.25 and draw
 * from the numbers of {@code SampleWriter.random()}: a function of the loader's seed, the epoch and
 * the index. A transform of transformed rows, or of images with an {@code ImagePlan}, draws other
 * numbers than those before it; one transform of two columns, such as images and their masks, draws
 * the same for both. Immutable and thread-safe.
 */
public final class RowTransform {
  private static final Set<DType> SOURCES =
      Set.of(
          DType.UINT8,
          DType.INT8,
          DType.INT16,
          DType.UINT16,
          DType.INT32,
          DType.UINT32,
          DType.INT64,
          DType.FLOAT32,
          DType.FLOAT64);

  /** Types to which scaled or normalized numbers can be rounded. */
  private static final Set<DType> ROUNDED = Set.of(DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32);

  private static final Set<DType> CASTS =
      Set.of(DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64, DType.INT64);

  static {
    Door.ROW_STEPS.open(RowTransform.class, transform -> transform.steps);
  }

  private final double[] steps; // as in torchfeed/row_plan.h
  private final Builder options;

  private RowTransform(double[] steps, Builder options) {
    this.steps = steps;
    this.options = options;
  }

  /**
   * Returns a builder without steps.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the dtype and shape of the row that a row becomes.
   *
   * @param source the dtype and shape of the row
   * @return the dtype and shape of the result
   * @throws IllegalArgumentException if the transform does not fit such rows, or a crop makes them
   *     longer, and 2^31 bytes or more
   */
  public RowSpec row(RowSpec source) {
    requireNonNull(source, "source");
    if (!SOURCES.contains(source.dtype())) {
      throw new IllegalArgumentException(
          "rows to be transformed must be of %s, got %s"
              .formatted(SOURCES.stream().sorted().toList(), source));
    }
    DType dtype = options.computes() ? DType.FLOAT32 : source.dtype();
    if (options.dtype != null) {
      boolean wasFloat = dtype == DType.FLOAT32 || dtype == DType.FLOAT64;
      if (options.dtype == DType.INT64 && wasFloat) {
        throw new IllegalArgumentException("floats cannot be cast to INT64, got " + source);
      }
      dtype = options.dtype;
    }
    RowSpec row = new RowSpec(dtype, shape(source), source.name());
    if (!options.partStep.isEmpty() && row.bytes() > Math.max(Integer.MAX_VALUE, source.bytes())) {
      throw new IllegalArgumentException(
          "%s must make rows of fewer than 2^31 bytes, or no longer than before, got %s of %s"
              .formatted(options.partStep, row, source));
    }
    return row;
  }

  private List<Long> shape(RowSpec source) {
    List<Long> shape = new ArrayList<>(source.shape());
    int dimensions = shape.size();
    if (options.channels > 1 && (dimensions < 3 || shape.get(dimensions - 3) != options.channels)) {
      throw new IllegalArgumentException(
          "mean has %d numbers, so a row must have as many channels, got %s"
              .formatted(options.channels, source));
    }
    if (options.places && dimensions < 2) {
      throw new IllegalArgumentException(
          "a row must have a height and a width to be cropped or reflected, got " + source);
    }
    if (!options.partStep.isEmpty()) {
      long height = shape.set(dimensions - 2, (long) options.height);
      long width = shape.set(dimensions - 1, (long) options.width);
      if (options.partStep.equals("randomCrop")
          && (options.height > height + 2L * options.padding
              || options.width > width + 2L * options.padding)) {
        throw new IllegalArgumentException(
            "randomCrop of %dx%d must not exceed the row and its padding, %d, got %s"
                .formatted(options.height, options.width, options.padding, source));
      }
    }
    return shape;
  }

  /**
   * Returns whether a step is random, so that rows depend on seed, epoch and index.
   *
   * @return true if the transform draws random numbers
   */
  public boolean isRandom() {
    return options.isRandom;
  }

  /**
   * A builder of a {@link RowTransform}; each step may be added once. Whatever the order of the
   * calls, a part is cut out first, then reflected, then its numbers are scaled, normalized and
   * cast. Not thread-safe.
   */
  public static final class Builder {
    private static final int MAX_SIDE = 1 << 24;
    private static final int MAX_CHANNELS = 1 << 16;

    private final Set<String> called = new HashSet<>();
    private DoubleStream part = DoubleStream.empty();
    private DoubleStream flip = DoubleStream.empty();
    private DoubleStream values = DoubleStream.empty();
    private DoubleStream normalization = DoubleStream.empty();
    private String partStep = "";
    private boolean isRandom;
    private boolean places;
    private int height;
    private int width;
    private int padding;
    private int channels = 1;
    private @Nullable DType dtype;

    private Builder() {}

    /**
     * Cuts out a rectangle, with 0 where it exceeds the row: torchvision's {@code crop}, and with a
     * negative start its {@code pad}.
     *
     * @param top the first row of pixels, in [-2^24, 2^24]
     * @param left the first column of pixels, in [-2^24, 2^24]
     * @param height the height of the result, in [1, 2^24]
     * @param width the width of the result, in [1, 2^24]
     * @return this builder
     * @throws IllegalArgumentException if a number is out of range
     * @throws IllegalStateException if another step decides the size
     */
    public Builder crop(int top, int left, int height, int width) {
      if (Math.max(Math.abs((long) top), Math.abs((long) left)) > MAX_SIDE) {
        throw new IllegalArgumentException(
            "top and left must be in [-2^24, 2^24], got %d and %d".formatted(top, left));
      }
      return part("crop", height, width, torchfeed.kRowCrop, top, left, height, width);
    }

    /**
     * Cuts out the middle, with 0 around a smaller row: {@code CenterCrop((height, width))}.
     *
     * @param height the height of the result, in [1, 2^24]
     * @param width the width of the result, in [1, 2^24]
     * @return this builder
     * @throws IllegalArgumentException if a side is out of range
     * @throws IllegalStateException if another step decides the size
     */
    public Builder centerCrop(int height, int width) {
      return part("centerCrop", height, width, torchfeed.kRowCenterCrop, height, width);
    }

    /**
     * Cuts out a random rectangle of the row with 0 around it: {@code RandomCrop((height, width),
     * padding)}.
     *
     * @param height the height of the result, in [1, 2^24]
     * @param width the width of the result, in [1, 2^24]
     * @param padding how many zeros are at each side of the row, in [0, 2^24]
     * @return this builder
     * @throws IllegalArgumentException if a number is out of range
     * @throws IllegalStateException if another step decides the size
     */
    public Builder randomCrop(int height, int width, int padding) {
      if (padding < 0 || padding > MAX_SIDE) {
        throw new IllegalArgumentException("padding must be in [0, 2^24], got " + padding);
      }
      part("randomCrop", height, width, torchfeed.kRowRandomCrop, height, width, padding);
      this.padding = padding;
      isRandom = true;
      return this;
    }

    /**
     * Reverses the last dimension at random: {@code RandomHorizontalFlip(probability)}.
     *
     * @param probability of a reflection, in [0, 1]
     * @return this builder
     * @throws IllegalArgumentException if it is out of range
     * @throws IllegalStateException if it was called before
     */
    public Builder horizontalFlip(double probability) {
      if (!(probability >= 0 && probability <= 1)) {
        throw new IllegalArgumentException("probability must be in [0, 1], got " + probability);
      }
      once("horizontalFlip");
      isRandom = true;
      places = true;
      flip = DoubleStream.of(torchfeed.kRowHorizontalFlip, probability);
      return this;
    }

    /**
     * Multiplies the numbers: {@code x.to(float32).mul(factor)}.
     *
     * @param factor finite; {@code 1f / 255f} for bytes as torchvision scales them
     * @return this builder
     * @throws IllegalArgumentException if it is not finite
     * @throws IllegalStateException if it was called before
     */
    public Builder scale(float factor) {
      if (!Float.isFinite(factor)) {
        throw new IllegalArgumentException("factor must be finite, got " + factor);
      }
      once("scale");
      values = DoubleStream.of(torchfeed.kRowScale, factor);
      return this;
    }

    /**
     * Subtracts the mean and divides by the standard deviation: {@code (x - mean) / std}, {@code
     * Normalize(mean, std)}.
     *
     * @param mean one number, or one for each channel, the third dimension from the end
     * @param std as many standard deviations, not 0
     * @return this builder
     * @throws IllegalArgumentException if the lengths differ or are not in [1, 65536], a number is
     *     not finite, or {@code std} has a 0
     * @throws IllegalStateException if it was called before
     */
    public Builder normalize(float[] mean, float[] std) {
      requireNonNull(mean, "mean");
      requireNonNull(std, "std");
      if (mean.length != std.length || mean.length < 1 || mean.length > MAX_CHANNELS) {
        throw new IllegalArgumentException(
            "mean and std must have as many numbers, in [1, 65536], got %d and %d"
                .formatted(mean.length, std.length));
      }
      for (int i = 0; i < mean.length; i++) {
        if (!Float.isFinite(mean[i]) || !Float.isFinite(std[i]) || std[i] == 0) {
          throw new IllegalArgumentException(
              "mean and std must be finite, and std not 0, got %s and %s"
                  .formatted(Arrays.toString(mean), Arrays.toString(std)));
        }
      }
      once("normalize");
      channels = mean.length;
      DoubleStream.Builder step = DoubleStream.builder();
      step.add(torchfeed.kRowNormalize).add(mean.length);
      for (float[] numbers : new float[][] {mean, std}) {
        for (float number : numbers) {
          step.add(number);
        }
      }
      normalization = step.build();
      return this;
    }

    /**
     * Casts the numbers, as {@code x.to(dtype)}. FLOAT16 and BFLOAT16 are rounded from FLOAT32, to
     * even if two are as near.
     *
     * @param dtype FLOAT16, BFLOAT16, FLOAT32, FLOAT64, or, for rows of integers, INT64; after
     *     {@code scale} or {@code normalize} one of the first three
     * @return this builder
     * @throws IllegalArgumentException if it is another one
     * @throws IllegalStateException if it was called before
     */
    public Builder cast(DType dtype) {
      if (!CASTS.contains(requireNonNull(dtype, "dtype"))) {
        throw new IllegalArgumentException(
            "dtype must be FLOAT16, BFLOAT16, FLOAT32, FLOAT64 or INT64, got " + dtype);
      }
      once("cast");
      this.dtype = dtype;
      return this;
    }

    /**
     * Builds the transform, once.
     *
     * @return the transform
     * @throws IllegalStateException if there is no step, the numbers are scaled or normalized and
     *     then cast to FLOAT64 or INT64, or the transform was built before
     */
    public RowTransform build() {
      if (called.isEmpty()) {
        throw new IllegalStateException("a transform needs a step");
      }
      if (computes() && dtype != null && !ROUNDED.contains(dtype)) {
        throw new IllegalStateException(
            "numbers that are scaled or normalized are FLOAT32, FLOAT16 or BFLOAT16, but are cast"
                + " to "
                + dtype);
      }
      once("build");
      DoubleStream cast =
          dtype == null
              ? DoubleStream.empty()
              : DoubleStream.of(torchfeed.kRowCast, dtype.scalarType().value);
      double[] steps =
          Stream.of(part, flip, values, normalization, cast)
              .flatMapToDouble(Function.identity())
              .toArray();
      return new RowTransform(steps, this);
    }

    private boolean computes() {
      return called.contains("scale") || called.contains("normalize");
    }

    private Builder part(String step, int height, int width, double... numbers) {
      for (int side : new int[] {height, width}) {
        if (side < 1 || side > MAX_SIDE) {
          throw new IllegalArgumentException("a side must be in [1, 2^24], got " + side);
        }
      }
      if (!partStep.isEmpty()) {
        throw new IllegalStateException(
            "%s cannot follow %s, which decides the size".formatted(step, partStep));
      }
      once(step);
      partStep = step;
      places = true;
      this.height = height;
      this.width = width;
      part = DoubleStream.of(numbers);
      return this;
    }

    private void once(String step) {
      if (called.contains("build")) {
        throw new IllegalStateException("the transform was built before");
      }
      if (!called.add(step)) {
        throw new IllegalStateException(step + " was called before");
      }
    }
  }
}
