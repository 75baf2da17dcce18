// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.nio.ByteOrder;

/**
 * The layout of rows of one dtype and shape in a file whose format is not self-describing: row
 * {@code i} begins at byte {@code offsetBytes + i * strideBytes}, its elements dense and in
 * row-major (C) order.
 *
 * <p>Unless an option says otherwise, the rows begin at byte 0, follow each other without gaps and
 * are little-endian. For example, the columns of a file of records, here a label byte before each
 * image, are
 *
 * <pre>{@code
 * var labels = RowLayout.of(DType.UINT8).withStrideBytes(1 + 3072);
 * var images = RowLayout.of(DType.UINT8, 3, 32, 32).withOffsetBytes(1).withStrideBytes(1 + 3072);
 * }</pre>
 *
 * @param row the dtype and shape of one row
 * @param offsetBytes the position of the first row's first byte
 * @param strideBytes the distance from the first byte of a row to the first byte of the next; rows
 *     overlap if it is less than the bytes of a row, as windows of a series do
 * @param order the byte order of the numbers; batches contain them in the machine's order
 */
public record RowLayout(RowSpec row, long offsetBytes, long strideBytes, ByteOrder order) {
  /**
   * Creates a layout.
   *
   * @param row the dtype and shape of one row
   * @param offsetBytes the position of the first row's first byte, at least 0
   * @param strideBytes the distance from the first byte of a row to the first byte of the next, at
   *     least 1, or 0 for rows without bytes
   * @param order the byte order of the numbers
   * @throws IllegalArgumentException if {@code offsetBytes} is negative, or {@code strideBytes} too
   *     small
   */
  public RowLayout {
    requireNonNull(row, "row");
    requireNonNull(order, "order");
    if (offsetBytes < 0) {
      throw new IllegalArgumentException("offsetBytes must be at least 0, got " + offsetBytes);
    }
    long least = Math.min(row.bytes(), 1);
    if (strideBytes < least) {
      throw new IllegalArgumentException(
          "strideBytes must be at least %d, got %d".formatted(least, strideBytes));
    }
  }

  /**
   * Returns a layout of rows from byte 0 on, without gaps, little-endian.
   *
   * @param dtype the type of the elements
   * @param shape the shape of one row; none for one number per row
   * @return the layout
   * @throws IllegalArgumentException if a dimension is negative, or a row takes 2^63 bytes or more
   */
  public static RowLayout of(DType dtype, long... shape) {
    requireNonNull(shape, "shape");
    RowSpec row = RowSpec.of(dtype, shape);
    return new RowLayout(row, 0, row.bytes(), ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Returns this layout with the first row at another offset, for example after a header.
   *
   * @param bytes the position of the first row's first byte, at least 0
   * @return the new layout
   * @throws IllegalArgumentException if {@code bytes} is negative
   */
  public RowLayout withOffsetBytes(long bytes) {
    return new RowLayout(row, bytes, strideBytes, order);
  }

  /**
   * Returns this layout with another stride, for example of records that contain more than the row,
   * or of windows that overlap.
   *
   * @param bytes the distance from the first byte of a row to the first byte of the next, at least
   *     1, or 0 for rows without bytes
   * @return the new layout
   * @throws IllegalArgumentException if it is too small
   */
  public RowLayout withStrideBytes(long bytes) {
    return new RowLayout(row, offsetBytes, bytes, order);
  }

  /**
   * Returns this layout with numbers in the given byte order; batches contain them converted to the
   * machine's order.
   *
   * @param byteOrder the order of the bytes of each number
   * @return the new layout
   */
  public RowLayout withOrder(ByteOrder byteOrder) {
    requireNonNull(byteOrder, "byteOrder");
    return new RowLayout(row, offsetBytes, strideBytes, byteOrder);
  }
}
