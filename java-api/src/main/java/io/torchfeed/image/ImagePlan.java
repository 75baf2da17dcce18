// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.ImageCuts;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.io.IOException;
import java.nio.file.ClosedFileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;

/**
 * The steps from an encoded image to a row of a batch: decode, crop and resize; flip, change
 * colors, augment, blur and erase in any order; normalize.
 *
 * <pre>{@code
 * ImagePlan plan =
 *     ImagePlan.builder()
 *         .randomResizedCrop(224, 224)
 *         .horizontalFlip(0.5)
 *         .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
 *         .build();
 * }</pre>
 *
 * <p>Images are JPEG, PNG, WebP, BMP, GIF, PBM, PGM, PPM or TIFF, whatever the names of their
 * files; of an animation, the first frame. They become RGB as in Pillow's {@code convert("RGB")}:
 * grey ones get three equal channels, transparency is dropped and the colors under it stay; color
 * profiles are not applied, and EXIF orientations only by {@link ImagePlanBuilder#exifOrientation},
 * but a TIFF is always turned, as in Pillow. Pixels equal Pillow's (with libjpeg-turbo), also on
 * processors without vector instructions, with two exceptions: of 16 bits, the high byte is used,
 * while Pillow clips grey ones at 255 unless they have transparency; {@link
 * ImagePlanBuilder#clipGrey16} does so, too. And values of an uncompressed TIFF of YCbCr samples
 * can differ by 1, since Pillow has a formula of its own there, in place of libtiff's. TIFFs of
 * floats, of signed or of 32-bit numbers, and JPEGs of 12 bits are refused.
 *
 * <p>An image may have 178,956,970 pixels at most, as in Pillow, unless {@link
 * ImagePlanBuilder#maxPixels} sets another limit. Only parts that the row needs are decoded, so
 * damage below a crop can go unnoticed.
 *
 * <p>Random steps have the formulas of torchvision 0.25, and draw from the numbers of {@code
 * SampleWriter.random()}: a function of the loader's seed, the epoch and the index. All images of a
 * sample share their draws, also with those the dataset makes itself. Immutable and thread-safe.
 */
public final class ImagePlan {
  private static final long MAX_FILE_BYTES = 1L << 30; // as in native code

  static {
    Door.IMAGE_STEPS.open(ImagePlan.class, plan -> plan.steps);
  }

  private final double[] steps; // as in torchfeed/image_plan.h
  private final RowSpec row;
  private final boolean isRandom;
  private final long maxPixels;

  ImagePlan(double[] steps, RowSpec row, boolean isRandom, long maxPixels) {
    this.steps = steps;
    this.row = row;
    this.isRandom = isRandom;
    this.maxPixels = maxPixels;
  }

  /**
   * Returns a builder without steps.
   *
   * @return the builder
   */
  public static ImagePlanBuilder builder() {
    return new ImagePlanBuilder();
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
   * Decodes an image into a row of a slab, in one native call; datasets use {@code
   * SampleWriter.putImage}.
   *
   * @param encoded the content of the image file
   * @param slab has a column of {@link #row}
   * @param column the number of the column
   * @param rowNumber the number of the row
   * @param seed the seed of the loader
   * @param epoch the epoch of the sample
   * @param index the index of the sample
   * @throws ImageException if the bytes are not an image that can be decoded
   * @throws IllegalArgumentException if the column has other rows
   * @throws IndexOutOfBoundsException if there is no such column or row
   * @throws IllegalStateException if the slab is closed
   */
  public void write(
      byte[] encoded, Slab slab, int column, int rowNumber, long seed, long epoch, long index) {
    requireNonNull(encoded, "encoded");
    requireNonNull(slab, "slab");
    requireRow(slab, column, rowNumber);
    try {
      Door.SLAB
          .of(slab)
          .run(
              into -> {
                torchfeed.write_image_row(
                    steps,
                    steps.length,
                    encoded,
                    encoded.length,
                    seed,
                    epoch,
                    index,
                    into,
                    column,
                    rowNumber);
              });
    } catch (NativeException e) {
      throw ofImage(e);
    }
  }

  /**
   * Reads and decodes a file into a row of a slab, in one native call if native code can open it;
   * datasets use {@code SampleWriter.putImage}.
   *
   * @param file the image file, of any file system
   * @param slab has a column of {@link #row}
   * @param column the number of the column
   * @param rowNumber the number of the row
   * @param seed the seed of the loader
   * @param epoch the epoch of the sample
   * @param index the index of the sample
   * @throws ImageException if the file cannot be read, or is not an image that can be decoded; the
   *     message names it
   * @throws IllegalArgumentException if the column has other rows
   * @throws IndexOutOfBoundsException if there is no such column or row
   * @throws IllegalStateException if the slab is closed
   */
  public void write(
      Path file, Slab slab, int column, int rowNumber, long seed, long epoch, long index) {
    requireNonNull(file, "file");
    requireNonNull(slab, "slab");
    requireRow(slab, column, rowNumber);
    try {
      if (file.getFileSystem() != FileSystems.getDefault()) {
        write(bytes(file), slab, column, rowNumber, seed, epoch, index);
        return;
      }
      byte[] path = PathBytes.of(file);
      Door.SLAB
          .of(slab)
          .run(
              into -> {
                torchfeed.write_image_file_row(
                    steps,
                    steps.length,
                    path,
                    path.length,
                    seed,
                    epoch,
                    index,
                    into,
                    column,
                    rowNumber);
              });
    } catch (NativeException e) {
      if (e.code() == NativeException.Code.UNREADABLE) {
        throw unreadable(file, e);
      }
      throw e;
    } catch (ImageException | IOException | ClosedFileSystemException e) {
      throw unreadable(file, e);
    }
  }

  /** Reads a file of another file system than the default one. */
  private static byte[] bytes(Path file) throws IOException {
    long size = Files.size(file);
    if (size > MAX_FILE_BYTES) {
      throw new IOException("it has more than %d bytes".formatted(MAX_FILE_BYTES));
    }
    return Files.readAllBytes(file);
  }

  private static ImageException unreadable(Path file, Exception cause) {
    return new ImageException(
        "%s cannot be read as an image: %s"
            .formatted(file.toString().isEmpty() ? "the empty path" : file, Failures.reason(cause)),
        cause);
  }

  private void requireRow(Slab slab, int column, int rowNumber) {
    Checks.requireIndex("rowNumber", rowNumber, slab.rows());
    List<RowSpec> columns = slab.columns();
    RowSpec rows = columns.get(Checks.requireIndex("column", column, columns.size()));
    if (!rows.hasRowsOf(row)) {
      throw new IllegalArgumentException(
          "column %d has rows %s, but the plan makes %s".formatted(column, rows, row));
    }
  }

  /**
   * Checks that {@link #cut} can make the rows of this plan.
   *
   * @throws IllegalArgumentException if it has a step that changes colors, blurs or erases, another
   *     filter than a bilinear or bicubic one, or no antialiasing
   */
  void requireCuts() {
    translating(
        () -> {
          ImageCuts.check(steps, steps.length);
          return row;
        });
  }

  /**
   * Makes the row of an image that was decoded elsewhere.
   *
   * @param encoded the content of its file, if the plan {@link #turns}; otherwise not read
   * @param pixels uint8 {@code [3, height, width]}, or the same numbers as float32
   * @param rows float32 {@code [B, 3, height, width]} of the plan, on the device of the pixels
   * @param row the row to write
   * @return the flips that {@link #finish} shall do
   */
  byte cut(byte[] encoded, long seed, long epoch, long index, Tensor pixels, Tensor rows, int row) {
    return translating(
        () ->
            (byte)
                ImageCuts.cut(
                    steps,
                    steps.length,
                    encoded,
                    encoded.length,
                    seed,
                    epoch,
                    index,
                    pixels,
                    rows,
                    row));
  }

  /** Returns whether images are turned as their files say. */
  boolean turns() {
    return translating(() -> ImageCuts.turns(steps, steps.length));
  }

  /**
   * Decodes an image on the CPU.
   *
   * @return its row before it is normalized, uint8 {@code [3, height, width]} in host memory
   * @throws ImageException if the bytes are not an image that can be decoded
   */
  Tensor decoded(byte[] encoded, long seed, long epoch, long index) {
    try {
      return translating(
          () ->
              ImageCuts.decoded(steps, steps.length, encoded, encoded.length, seed, epoch, index));
    } catch (NativeException e) {
      throw ofImage(e);
    }
  }

  /** Returns the number of pixels above which an image is refused. */
  long maxPixels() {
    return maxPixels;
  }

  /** Rounds a batch of rows that were {@link #cut}, flips them, and normalizes if the plan does. */
  Tensor finish(Tensor rows, byte[] flips) {
    return translating(() -> ImageCuts.finish(steps, steps.length, rows, flips));
  }

  /** Returns an {@link ImageException} for an image that cannot be read, others as they are. */
  private static RuntimeException ofImage(NativeException e) {
    return e.code() == NativeException.Code.UNREADABLE
        ? new ImageException(requireNonNull(e.getMessage()), e)
        : e;
  }

  private static <T> T translating(Supplier<T> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /**
   * Returns whether a step is random, so that rows depend on seed, epoch and index.
   *
   * @return true if the plan draws random numbers
   */
  public boolean isRandom() {
    return isRandom;
  }

  @Override
  public String toString() {
    return "ImagePlan to " + row;
  }
}
