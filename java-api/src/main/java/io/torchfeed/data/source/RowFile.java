// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;

/** The content of one file: its rows, and their number. */
record RowFile(Path path, RowLayout layout, long rows) {
  /** Returns dense rows that fill the file after its header, as the header declares. */
  static RowFile dense(
      FileHead file, DType dtype, ByteOrder order, long offsetBytes, long... shape) {
    requireSize(file, dtype, offsetBytes, shape);
    RowSpec row = RowSpec.of(dtype, Arrays.copyOfRange(shape, 1, shape.length));
    long start = file.start() + offsetBytes;
    return new RowFile(file.path(), new RowLayout(row, start, row.bytes(), order), shape[0]);
  }

  /** Checks that an array fills the file after its header. */
  static void requireSize(FileHead file, DType dtype, long offsetBytes, long... shape) {
    String content;
    long size;
    try {
      RowSpec array = RowSpec.of(dtype, shape);
      content = FieldFormat.quote(array.toString());
      size = Math.addExact(offsetBytes, array.bytes());
    } catch (ArithmeticException | IllegalArgumentException e) {
      throw file.refused(
          "must be shorter than 2^63 bytes",
          "the shape " + FieldFormat.quote(Arrays.toString(shape)));
    }
    if (file.size() != size) {
      throw file.refused(
          "must have %d bytes, a header of %d and %s".formatted(size, offsetBytes, content),
          "%d: it is %s"
              .formatted(file.size(), file.size() < size ? "incomplete" : "longer than the array"));
    }
  }

  /** Returns as many rows of a layout, of at least one byte each, as the file holds. */
  static RowFile raw(FileHead file, RowLayout layout) {
    long rowBytes = layout.row().bytes();
    long covered = file.size() - layout.offsetBytes();
    if (layout.strideBytes() < rowBytes
        && covered >= 0) { // windows; the rest is less than a stride
      long rows = covered < rowBytes ? 0 : (covered - rowBytes) / layout.strideBytes() + 1;
      return new RowFile(file.path(), layout, rows);
    }
    long rest = covered % layout.strideBytes();
    if (covered < 0 || (rest > 0 && rest < rowBytes)) {
      throw file.refused(
          "must hold whole rows of %d bytes, one every %d bytes from byte %d on"
              .formatted(rowBytes, layout.strideBytes(), layout.offsetBytes()),
          "a file of %d bytes".formatted(file.size()));
    }
    long rows = covered / layout.strideBytes() + (rest > 0 ? 1 : 0);
    return new RowFile(file.path(), layout, rows);
  }

  /** Returns whether the rows of the other file can follow these in one column. */
  boolean continuesIn(RowFile other) {
    return layout.row().equals(other.layout.row()) && layout.order() == other.layout.order();
  }

  /** Returns a description of a row, for messages. */
  String kind() {
    RowSpec row = layout.row();
    boolean swapped = layout.order() == ByteOrder.BIG_ENDIAN && row.dtype().bytes() > 1;
    return FieldFormat.quote(row.toString()) + (swapped ? ", big-endian" : "");
  }
}
