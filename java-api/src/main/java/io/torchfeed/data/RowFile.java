// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.nio.file.Path;
import java.util.Arrays;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** What one file holds: {@code rows} samples of a dtype and shape, and where they lie. */
record RowFile(
    Path path,
    ScalarType dtype,
    @SuppressWarnings("ArrayRecordComponent") long[] sampleShape, // never compared
    boolean bigEndian,
    long offsetBytes,
    long strideBytes,
    long rows) {
  /** Dense rows that fill the file after its header, as the header says. */
  static RowFile dense(
      FileHead file, ScalarType dtype, boolean bigEndian, long offsetBytes, long... shape) {
    long[] sampleShape = Arrays.copyOfRange(shape, 1, shape.length);
    long rowBytes;
    long size;
    try {
      rowBytes = RowType.of(dtype).rowBytes(sampleShape);
      size = Math.addExact(offsetBytes, Math.multiplyExact(rowBytes, shape[0]));
    } catch (ArithmeticException | IllegalArgumentException e) {
      throw file.refused("must be shorter than 2^63 bytes", "the shape " + Arrays.toString(shape));
    }
    if (file.size() != size) {
      throw file.refused(
          "must have %d bytes, a header of %d and %s of shape %s"
              .formatted(size, offsetBytes, dtype, Arrays.toString(shape)),
          "%d: it is %s"
              .formatted(file.size(), file.size() < size ? "incomplete" : "not this array alone"));
    }
    return new RowFile(file.path(), dtype, sampleShape, bigEndian, offsetBytes, rowBytes, shape[0]);
  }

  /** Whether the rows of the other can follow these in one column. */
  boolean continuesIn(RowFile other) {
    return dtype == other.dtype
        && bigEndian == other.bigEndian
        && Arrays.equals(sampleShape, other.sampleShape);
  }

  /** What a row is, for messages. */
  String kind() {
    return dtype + Arrays.toString(sampleShape) + (bigEndian ? ", big-endian" : "");
  }
}
