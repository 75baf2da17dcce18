// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.memory.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The format of the MNIST files: two zero bytes, the dtype's code, the number of dimensions, and
 * each size as a big-endian uint32; the elements follow in C order, big-endian.
 */
final class IdxFormat {
  private static final int MAGIC_BYTES = 4;

  private IdxFormat() {}

  static RowFile read(FileHead file) {
    if (file.size() < MAGIC_BYTES) {
      throw file.notThisFormat("must begin with the magic of an idx file, 00 00 dtype dimensions");
    }
    ByteBuffer magic = file.bytes(0, MAGIC_BYTES, "the magic of an idx file");
    int code = magic.get(2) & 0xff;
    DType dtype = dtypeOf(code);
    if (magic.getShort(0) != 0 || dtype == null) {
      throw file.notThisFormat("must begin with the magic of an idx file, 00 00 dtype dimensions");
    }
    int dimensions = magic.get(3) & 0xff;
    if (dimensions == 0) {
      throw file.refused("must have a dimension of rows", "an idx file without dimensions");
    }
    ByteBuffer sizes = file.bytes(MAGIC_BYTES, 4 * dimensions, "the sizes of an idx file");
    long[] shape = new long[dimensions];
    for (int i = 0; i < dimensions; i++) {
      shape[i] = Integer.toUnsignedLong(sizes.getInt());
    }
    return RowFile.dense(file, dtype, ByteOrder.BIG_ENDIAN, MAGIC_BYTES + 4L * dimensions, shape);
  }

  private static @Nullable DType dtypeOf(int code) {
    return switch (code) {
      case 0x08 -> DType.UINT8;
      case 0x09 -> DType.INT8;
      case 0x0B -> DType.INT16;
      case 0x0C -> DType.INT32;
      case 0x0D -> DType.FLOAT32;
      case 0x0E -> DType.FLOAT64;
      default -> null;
    };
  }
}
