// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.nio.file.Path;
import java.util.Arrays;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The content of one file: {@code rows} samples of a dtype and shape, and their location. */
record RowFile(
    Path path,
    ScalarType dtype,
    @SuppressWarnings("ArrayRecordComponent") long[] sampleShape, // never compared
    boolean bigEndian,
    long offsetBytes,
    long strideBytes,
    long rows) {
  /** Returns dense rows that fill the file after its header, as the header declares. */
  static RowFile dense(
      FileHead file, ScalarType dtype, boolean bigEndian, long offsetBytes, long... shape) {
    long[] sampleShape = Arrays.copyOfRange(shape, 1, shape.length);
    long rowBytes;
    long size;
    try {
      rowBytes = RowType.of(dtype).rowBytes(sampleShape);
      size = Math.addExact(offsetBytes, Math.multiplyExact(rowBytes, shape[0]));
    } catch (ArithmeticException | IllegalArgumentException e) {
      throw file.refused("must be shorter than 2^63 bytes", "the shape " + text(shape));
    }
    if (file.size() != size) {
      throw file.refused(
          "must have %d bytes, a header of %d and %s of shape %s"
              .formatted(size, offsetBytes, dtype, text(shape)),
          "%d: it is %s"
              .formatted(file.size(), file.size() < size ? "incomplete" : "longer than the array"));
    }
    return new RowFile(file.path(), dtype, sampleShape, bigEndian, offsetBytes, rowBytes, shape[0]);
  }

  /** Returns whether the rows of the other file can follow these in one column. */
  boolean continuesIn(RowFile other) {
    return dtype == other.dtype
        && bigEndian == other.bigEndian
        && Arrays.equals(sampleShape, other.sampleShape);
  }

  /** Returns a description of a row, for messages. */
  String kind() {
    return dtype + text(sampleShape) + (bigEndian ? ", big-endian" : "");
  }

  private static String text(long... shape) {
    return FieldFormat.quote(Arrays.toString(shape));
  }
}
