// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;

/** Views of the bytes of a tensor on the CPU, in pieces that buffers of the JDK can have. */
final class TensorBytes {
  private static final long PIECE = 1 << 20; // in the cache while it is hashed and written

  private TensorBytes() {}

  /** A user of the bytes. */
  @FunctionalInterface
  interface Use {
    /**
     * Uses a piece.
     *
     * @param bytes valid until the call returns; all bytes of it must be used
     */
    void accept(ByteBuffer bytes) throws IOException;
  }

  /**
   * Passes all bytes in order.
   *
   * @param tensor contiguous, on the CPU
   */
  static void forEach(Tensor tensor, Use use) throws IOException {
    long size = tensor.numel() * tensor.element_size();
    if (size == 0) {
      return; // its address may be null
    }
    try (BytePointer memory = new BytePointer(tensor.data_ptr())) {
      for (long at = 0; at < size; at += PIECE) {
        long end = Math.min(size, at + PIECE);
        use.accept(memory.position(at).limit(end).asByteBuffer());
      }
    }
  }
}
