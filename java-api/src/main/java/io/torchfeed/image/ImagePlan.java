// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The steps from an encoded picture to a row of a batch: decode, crop and resize, normalize.
 *
 * <pre>{@code
 * ImagePlan plan =
 *     ImagePlan.builder()
 *         .resizeShortSide(256)
 *         .centerCrop(224, 224)
 *         .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
 *         .build();
 * }</pre>
 *
 * <p>Pictures are JPEG, PNG or WebP, whatever the names of their files. They become RGB as in
 * Pillow's {@code convert("RGB")}: grey ones get three equal channels, transparency is dropped and
 * the colors under it stay; color profiles and EXIF orientations are not applied. Of 16 bits, the
 * high byte is used. Pixels equal Pillow's (with libjpeg-turbo), also on processors without vector
 * instructions.
 *
 * <p>A picture may have 178,956,970 pixels at most, as in Pillow. Only what the row needs is
 * decoded, so damage below a crop can go unnoticed. Immutable and thread-safe.
 */
public final class ImagePlan {
  private static final int CHANNELS = 3;
  private static final int MAX_SIDE = 65535;

  private final double[] steps; // as in torchfeed/image_plan.h
  private final RowSpec row;

  private ImagePlan(double[] steps, RowSpec row) {
    this.steps = steps;
    this.row = row;
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
   * Returns the usual mean of the channels of ImageNet.
   *
   * @return red, green and blue: 0.485, 0.456, 0.406
   */
  public static float[] imagenetMean() {
    return new float[] {0.485f, 0.456f, 0.406f};
  }

  /**
   * Returns the usual standard deviation of the channels of ImageNet.
   *
   * @return red, green and blue: 0.229, 0.224, 0.225
   */
  public static float[] imagenetStd() {
    return new float[] {0.229f, 0.224f, 0.225f};
  }

  /**
   * Returns the dtype and shape of the result.
   *
   * @return uint8 {@code [3, height, width]}, or float32 if the plan normalizes
   */
  public RowSpec row() {
    return row;
  }

  /**
   * Decodes a picture into a row of a slab, in one native call. For torchfeed's own packages;
   * datasets use {@code SampleWriter.putImage}.
   *
   * @param encoded the content of the image file
   * @param slab has a column of {@link #row}
   * @param column the number of the column
   * @param rowNumber the number of the row
   * @throws ImageException if the bytes are not a picture that can be decoded
   * @throws IllegalArgumentException if the column has other rows
   * @throws IndexOutOfBoundsException if there is no such column or row
   * @throws IllegalStateException if the slab is closed
   */
  public void write(byte[] encoded, Slab slab, int column, int rowNumber) {
    Objects.checkIndex(rowNumber, slab.rows());
    RowSpec rows = slab.columns().get(column);
    if (!rows.equals(row)) {
      throw new IllegalArgumentException(
          "column %d has rows %s, but the plan makes %s".formatted(column, rows, row));
    }
    try {
      slab.callNative(
          into -> {
            torchfeed.write_image_row(
                steps, steps.length, encoded, encoded.length, into, column, rowNumber);
            return into;
          });
    } catch (NativeException e) {
      if (e.code() == NativeException.Code.UNREADABLE) {
        throw new ImageException(requireNonNull(e.getMessage()), e);
      }
      throw e;
    }
  }

  @Override
  public String toString() {
    return "ImagePlan to " + row;
  }

  /** A builder of plans. Each step may be added once. Not thread-safe. */
  public static final class Builder {
    private ImageDialect dialect = ImageDialect.PILLOW;
    private ImageFilter filter = ImageFilter.BILINEAR;
    private final List<double[]> steps = new ArrayList<>();
    private int shortSide; // 0 for none
    private long height; // 0 until a step decides it
    private long width;
    private boolean crops;
    private boolean normalizes;

    private Builder() {}

    /**
     * Chooses how sizes are changed; by default as Pillow 13 does with {@link
     * ImageFilter#BILINEAR}.
     *
     * @param dialect the program whose pixels are reproduced
     * @param filter the filter
     * @return this builder
     * @throws IllegalArgumentException if the program does not have this filter
     */
    public Builder scaling(ImageDialect dialect, ImageFilter filter) {
      if (dialect == ImageDialect.TORCHVISION
          && filter != ImageFilter.BILINEAR
          && filter != ImageFilter.BICUBIC) {
        throw new IllegalArgumentException(
            "filter must be BILINEAR or BICUBIC in the dialect TORCHVISION, got " + filter);
      }
      this.dialect = requireNonNull(dialect, "dialect");
      this.filter = requireNonNull(filter, "filter");
      return this;
    }

    /**
     * Scales the whole picture to a size, whatever its proportions: {@code Resize((height,
     * width))}.
     *
     * @param height the height of the result in pixels, in [1, 65535]
     * @param width the width of the result in pixels, in [1, 65535]
     * @return this builder
     * @throws IllegalArgumentException if a side is out of range
     * @throws IllegalStateException if another step decides the size
     */
    public Builder resize(int height, int width) {
      setSize(height, width);
      steps.add(new double[] {torchfeed.kPlanResize, height, width});
      return this;
    }

    /**
     * Scales the picture, with its proportions, before a {@link #centerCrop}: {@code Resize(side)}.
     *
     * @param side the length of the shorter side in pixels, in [1, 65535]
     * @return this builder
     * @throws IllegalArgumentException if it is out of range
     * @throws IllegalStateException if the step is there already
     */
    public Builder resizeShortSide(int side) {
      if (shortSide != 0) {
        throw new IllegalStateException("resizeShortSide was called before, with " + shortSide);
      }
      shortSide = requireSide(side);
      steps.add(new double[] {torchfeed.kPlanShortSide, side});
      return this;
    }

    /**
     * Cuts out the middle, with black around a smaller picture: {@code CenterCrop((height,
     * width))}.
     *
     * @param height the height of the result in pixels, in [1, 65535]
     * @param width the width of the result in pixels, in [1, 65535]
     * @return this builder
     * @throws IllegalArgumentException if a side is out of range
     * @throws IllegalStateException if another step decides the size
     */
    public Builder centerCrop(int height, int width) {
      setSize(height, width);
      crops = true;
      steps.add(new double[] {torchfeed.kPlanCenterCrop, height, width});
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
     * @throws IllegalStateException if the step is there already
     */
    public Builder normalize(float[] mean, float[] std) {
      requireChannels("mean", mean);
      requireChannels("std", std);
      for (float channel : std) {
        if (channel == 0) {
          throw new IllegalArgumentException("std must not be 0, got " + Arrays.toString(std));
        }
      }
      if (normalizes) {
        throw new IllegalStateException("normalize was called before");
      }
      normalizes = true;
      double[] step = new double[1 + 2 * CHANNELS];
      step[0] = torchfeed.kPlanNormalize;
      for (int c = 0; c < CHANNELS; c++) {
        step[1 + c] = mean[c];
        step[1 + CHANNELS + c] = std[c];
      }
      steps.add(step);
      return this;
    }

    /**
     * Builds the plan.
     *
     * @return the plan
     * @throws IllegalStateException if no step decides the size, {@code resizeShortSide} is not
     *     followed by a crop, or a row takes 2^31 bytes or more
     */
    public ImagePlan build() {
      if (height == 0) {
        throw new IllegalStateException("a plan needs resize or centerCrop, which decide the size");
      }
      if (shortSide != 0 && !crops) {
        throw new IllegalStateException("resizeShortSide needs centerCrop, got resize");
      }
      RowSpec row = RowSpec.of(normalizes ? DType.FLOAT32 : DType.UINT8, CHANNELS, height, width);
      if (row.bytes() > Integer.MAX_VALUE) {
        throw new IllegalStateException("a row must have fewer than 2^31 bytes, got " + row);
      }
      double[] scaling = {torchfeed.kPlanScaling, dialect.number(), filter.number()};
      double[] numbers =
          Arrays.copyOf(scaling, scaling.length + steps.stream().mapToInt(s -> s.length).sum());
      int at = scaling.length;
      for (double[] step : steps) {
        System.arraycopy(step, 0, numbers, at, step.length);
        at += step.length;
      }
      return new ImagePlan(numbers, row);
    }

    private void setSize(int height, int width) {
      if (this.height != 0) {
        throw new IllegalStateException(
            "another step made the size %dx%d before".formatted(this.height, this.width));
      }
      this.height = requireSide(height);
      this.width = requireSide(width);
    }

    private static int requireSide(int side) {
      if (side < 1 || side > MAX_SIDE) {
        throw new IllegalArgumentException(
            "a side must have from 1 to %d pixels, got %d".formatted(MAX_SIDE, side));
      }
      return side;
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
}
