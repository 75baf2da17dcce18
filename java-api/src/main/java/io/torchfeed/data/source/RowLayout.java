// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The layout of samples of one dtype and shape in a file whose format is not self-describing:
 * sample {@code i} begins at byte {@code offsetBytes + i * strideBytes}, its elements dense and in
 * C order.
 *
 * <p>By default the samples begin at byte 0, follow each other without gaps and are little-endian.
 * For example, the columns of a file of records, here a label byte before each image, are
 *
 * <pre>{@code
 * var labels = RowLayout.of(ScalarType.Byte).strideBytes(1 + 3072);
 * var images = RowLayout.of(ScalarType.Byte, 3, 32, 32).offsetBytes(1).strideBytes(1 + 3072);
 * }</pre>
 *
 * <p>Immutable.
 */
public final class RowLayout {
  private final ScalarType dtype;
  private final long[] sampleShape;
  private final long offsetBytes;
  private final long strideBytes;
  private final boolean bigEndian;

  private RowLayout(
      ScalarType dtype, long[] sampleShape, long offsetBytes, long strideBytes, boolean bigEndian) {
    this.dtype = dtype;
    this.sampleShape = sampleShape;
    this.offsetBytes = offsetBytes;
    this.strideBytes = strideBytes;
    this.bigEndian = bigEndian;
  }

  /**
   * Returns a layout of samples from byte 0 on, without gaps, little-endian.
   *
   * @param dtype the dtype of the elements: any with a fixed number of bytes that is not quantized
   * @param sampleShape the shape of one sample, each size at least 1; none for one number per
   *     sample
   * @return the layout
   * @throws IllegalArgumentException if the dtype is not supported in files, a size is below 1, or
   *     a sample is too large
   */
  public static RowLayout of(ScalarType dtype, long... sampleShape) {
    long[] shape = sampleShape.clone();
    for (long size : shape) {
      if (size < 1) {
        throw new IllegalArgumentException(
            "sampleShape must have sizes of at least 1, got " + Arrays.toString(shape));
      }
    }
    ScalarType known =
        requireNonNull(dtype, "dtype").intern(); // a tensor's dtype is a separate object
    return new RowLayout(known, shape, 0, RowType.of(known).rowBytes(shape), false);
  }

  /**
   * Returns the same layout with the first sample at another offset, for example after a header.
   *
   * @param bytes the position of the first sample's first byte, at least 0
   * @return a new layout
   * @throws IllegalArgumentException if {@code bytes} is negative
   */
  public RowLayout offsetBytes(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("offsetBytes must be at least 0, got " + bytes);
    }
    return new RowLayout(dtype, sampleShape, bytes, strideBytes, bigEndian);
  }

  /**
   * Returns the same layout with samples further apart, as in records of which the sample is a
   * part.
   *
   * @param bytes the distance from the first byte of a sample to the first byte of the next, at
   *     least the bytes of a sample
   * @return a new layout
   * @throws IllegalArgumentException if samples would overlap
   */
  public RowLayout strideBytes(long bytes) {
    if (bytes < rowBytes()) {
      throw new IllegalArgumentException(
          "strideBytes must be at least the %d bytes of a sample, got %d"
              .formatted(rowBytes(), bytes));
    }
    return new RowLayout(dtype, sampleShape, offsetBytes, bytes, bigEndian);
  }

  /**
   * Returns the same layout with the numbers in big-endian byte order; batches contain them
   * converted.
   *
   * @return a new layout
   */
  public RowLayout bigEndian() {
    return new RowLayout(dtype, sampleShape, offsetBytes, strideBytes, true);
  }

  private long rowBytes() {
    return RowType.of(dtype).rowBytes(sampleShape);
  }

  /** Returns the rows of a file in this layout. */
  RowFile of(FileHead file) {
    long rowBytes = rowBytes();
    long covered = file.size() - offsetBytes;
    long rest = covered % strideBytes;
    if (covered < 0 || (rest > 0 && rest < rowBytes)) {
      throw file.refused(
          "must hold whole rows of %d bytes, one every %d bytes from byte %d on"
              .formatted(rowBytes, strideBytes, offsetBytes),
          "a file of %d bytes".formatted(file.size()));
    }
    long rows = covered / strideBytes + (rest > 0 ? 1 : 0);
    return new RowFile(file.path(), dtype, sampleShape, bigEndian, offsetBytes, strideBytes, rows);
  }

  @Override
  public String toString() {
    return "RowLayout[%s%s, offsetBytes %d, strideBytes %d%s]"
        .formatted(
            dtype,
            Arrays.toString(sampleShape),
            offsetBytes,
            strideBytes,
            bigEndian ? ", big-endian" : "");
  }
}
