// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * A column in a file as {@code numpy.save} writes it, version 1.0.
 *
 * @param file the file
 * @param row the name, dtype and shape of a row
 * @param rows their number
 */
record StoredColumn(Path file, RowSpec row, long rows) {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  private static final int ALIGNMENT = 64;

  /** Returns the bytes before the first row. */
  ByteBuffer header() {
    String shape =
        row.shape().stream().map(dimension -> dimension + ",").collect(Collectors.joining());
    String text =
        "{'descr': '%s', 'fortran_order': False, 'shape': (%d,%s), }"
            .formatted(descr(row.dtype()), rows, shape);
    int before = MAGIC.length + Short.BYTES;
    int length = Math.ceilDiv(before + text.length() + 1, ALIGNMENT) * ALIGNMENT;
    text += " ".repeat(length - before - text.length() - 1) + "\n";
    ByteBuffer header = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    header.put(MAGIC).putShort((short) (length - before));
    return header.put(text.getBytes(StandardCharsets.US_ASCII)).flip();
  }

  private static String descr(DType dtype) {
    return switch (dtype) {
      case BOOL -> "|b1";
      case UINT8 -> "|u1";
      case INT8 -> "|i1";
      case INT16 -> "<i2";
      case INT32 -> "<i4";
      case INT64 -> "<i8";
      case FLOAT32 -> "<f4";
      case FLOAT64 -> "<f8";
      default -> throw new IllegalArgumentException("no column has rows of " + dtype);
    };
  }

  /** Returns the position of a row, or of the end of the file. */
  long offset(long number) {
    return header().remaining() + number * row.bytes();
  }

  /** Returns the column for a dataset. */
  FileColumn column() {
    return FileColumn.raw(
        new RowLayout(row, offset(0), row.bytes(), ByteOrder.LITTLE_ENDIAN), file);
  }
}
