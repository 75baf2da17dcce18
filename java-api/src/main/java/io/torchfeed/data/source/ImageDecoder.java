// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A decoder that writes images as rows of a column. Implementations must be thread-safe: the
 * workers of a loader call them concurrently.
 */
public interface ImageDecoder {
  /**
   * Returns the dtype and shape of a decoded image.
   *
   * @return the row that {@link #decode} writes, always the same
   */
  RowSpec row();

  /**
   * Decodes an image and writes it as all elements of one column of a sample.
   *
   * @param encoded the content of the image file
   * @param sample receives the image; valid only in this call and thread
   * @param column the number of the column, starting at 0
   * @throws IOException if the image cannot be decoded
   */
  void decode(byte[] encoded, SampleWriter sample, int column) throws IOException;

  /**
   * Reads an image file and writes it as all elements of one column of a sample: by default with
   * {@link #decode(byte[], SampleWriter, int)}. The decoder of {@link #of} reads in native code.
   *
   * @param file the image file
   * @param sample receives the image; valid only in this call and thread
   * @param column the number of the column, starting at 0
   * @throws IOException if the file cannot be read or decoded; the message names it
   * @throws IllegalArgumentException if it is not a regular file
   */
  default void decode(Path file, SampleWriter sample, int column) throws IOException {
    requireNonNull(file, "file");
    requireNonNull(sample, "sample");
    RegularFile.require(file);
    try {
      decode(Files.readAllBytes(file), sample, column);
    } catch (IOException | RuntimeException e) { // decoders may throw anything for corrupt bytes
      throw new IOException(
          "%s cannot be read as an image: %s".formatted(file, Failures.reason(e)), e);
    }
  }

  /**
   * Returns the native decoder: its pixels equal Pillow's or torchvision's, as the plan chooses,
   * with the exceptions that {@link ImagePlan} names. It throws an unchecked {@link
   * io.torchfeed.image.ImageException} in the place of an {@code IOException}, and for a file that
   * is not a regular one.
   *
   * @param plan the size and form of the images
   * @return the decoder
   */
  static ImageDecoder of(ImagePlan plan) {
    return new PlanDecoder(plan);
  }

  /**
   * Returns the decoder of the JDK, {@code ImageIO}: uint8 {@code [3, height, width]} in the order
   * red, green, blue. An image of another size is scaled bilinearly to exactly this size, whatever
   * its proportions; a reduction to half or less is made in steps of one half.
   *
   * <p>The pixels differ from torchvision's and Pillow's, and decoding takes about three times as
   * long: {@code ImageIO} converts images with an embedded ICC profile, which most photographs
   * have, to sRGB, while Pillow keeps the stored values (an average difference of 1.4 of 255
   * levels, at most 56); transparent pixels become black, while Pillow drops the alpha channel and
   * keeps their colors; and images are scaled with a different filter. Do not train a model on the
   * pixels of one and use it on the pixels of the other. {@link #of} has Pillow's pixels, and is
   * several times as fast.
   *
   * <p>The formats are bmp, gif, jpeg, png and tiff; ppm, pgm and webp need an {@code ImageIO}
   * plug-in. A modular program needs {@code java.desktop}.
   *
   * @param height the height of the rows in pixels, at least 1
   * @param width the width of the rows in pixels, at least 1
   * @return the decoder
   * @throws IllegalArgumentException if a side is below 1, or a row takes 2^31 bytes or more
   * @throws IllegalStateException if the program lacks the module {@code java.desktop}
   */
  static ImageDecoder imageIo(int height, int width) {
    return ImageIoDecoder.of(height, width);
  }
}
