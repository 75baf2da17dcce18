// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.nio.ByteBuffer;
import org.bytedeco.pytorch.global.torch.ScalarType;
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
    ScalarType dtype = dtypeOf(code);
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
    return RowFile.dense(
        file, dtype, RowType.of(dtype).unitBytes() > 1, MAGIC_BYTES + 4L * dimensions, shape);
  }

  private static @Nullable ScalarType dtypeOf(int code) {
    return switch (code) {
      case 0x08 -> ScalarType.Byte;
      case 0x09 -> ScalarType.Char;
      case 0x0B -> ScalarType.Short;
      case 0x0C -> ScalarType.Int;
      case 0x0D -> ScalarType.Float;
      case 0x0E -> ScalarType.Double;
      default -> null;
    };
  }
}
