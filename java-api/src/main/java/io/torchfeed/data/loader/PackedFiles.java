// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import io.torchfeed.internal.Checks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The files in a column of packed samples. */
final class PackedFiles {
  private PackedFiles() {}

  /** A decoder of the files of a batch. */
  interface Decoder {
    /** Returns one row for each file; the innermost scope owns it. */
    Tensor decode(List<byte[]> files, long seed, long epoch, long[] indices);
  }

  private static void requireInside(long start, long end, long size) {
    if (start < 0 || end < start || end > size) {
      throw new IllegalArgumentException(
          "offsets must ascend in [0, %d], got %d followed by %d".formatted(size, start, end));
    }
  }

  /** Returns the samples of a packed column of bytes. */
  static List<byte[]> of(Tensor bytes, Tensor offsets) {
    if (!bytes.is_cpu()
        || !offsets.is_cpu()
        || bytes.dim() != 1
        || offsets.dim() != 1
        || bytes.scalar_type().intern() != ScalarType.Byte
        || offsets.scalar_type().intern() != ScalarType.Long) {
      throw new IllegalArgumentException(
          "a packed column of uint8 in host memory and its int64 offsets are needed (for batches on"
              + " a device, Step.decode is the first step), got %s %s and"
                  .formatted(bytes.scalar_type(), Arrays.toString(bytes.sizes().vec().get()))
              + " %s %s"
                  .formatted(offsets.scalar_type(), Arrays.toString(offsets.sizes().vec().get())));
    }
    long[] bounds = new long[Checks.requireArrayLength("offsets", offsets.numel())];
    new LongPointer(offsets.data_ptr_long()).get(bounds);
    BytePointer all = new BytePointer(bytes.data_ptr());
    long size = bytes.numel();
    List<byte[]> files = new ArrayList<>();
    for (int i = 1; i < bounds.length; i++) {
      requireInside(bounds[i - 1], bounds[i], size);
      byte[] file = new byte[Checks.requireArrayLength("a sample", bounds[i] - bounds[i - 1])];
      if (file.length > 0) { // a column of empty files has no address
        all.position(bounds[i - 1]).get(file);
      }
      files.add(file);
    }
    return files;
  }
}
