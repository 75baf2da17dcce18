// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/**
 * Ranges of native memory as buffers of the JDK. No other class makes such buffers, since JavaCPP
 * cuts them 2<sup>31</sup> - 1 bytes behind the address of the pointer, whatever its position,
 * without an error.
 */
public final class NativeBytes {
  private static final long PIECE = 1 << 20; // in the cache while it is hashed and written

  private NativeBytes() {}

  /**
   * A user of the bytes.
   *
   * @param <E> its exception
   */
  @FunctionalInterface
  public interface Use<E extends Exception> {
    /**
     * Uses a piece.
     *
     * @param piece valid until the call returns, in the native order; its position must be at its
     *     end then
     */
    void accept(ByteBuffer piece) throws E;
  }

  /**
   * Returns a range as a buffer, which does not keep the memory alive.
   *
   * @param memory the address to which {@code from} is relative; not null unless {@code bytes} is 0
   * @param from the number of bytes before the range
   * @param bytes the size of the range, in [0, 2<sup>31</sup>)
   * @return a buffer of the range, in the native order
   * @throws IllegalArgumentException if the size is out of this range
   */
  public static ByteBuffer buffer(Pointer memory, long from, long bytes) {
    if (bytes < 0 || bytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("a buffer must have in [0, 2^31) bytes, got " + bytes);
    }
    if (bytes == 0) {
      return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder()); // JavaCPP's would have 1
    }
    long position = memory.position() * memory.sizeof(); // elements, which a cast does not convert
    BytePointer range = new BytePointer(memory).position(0).getPointer(position + from);
    ByteBuffer buffer = range.limit(bytes).asByteBuffer();
    if (buffer.remaining() != bytes) {
      throw new IllegalStateException(
          "the buffer of %d bytes has only %d".formatted(bytes, buffer.remaining()));
    }
    return buffer;
  }

  /**
   * Passes all bytes of a range in order, in pieces.
   *
   * @param memory the first byte; not null unless {@code bytes} is 0
   * @param bytes the size of the range, which may be 2<sup>31</sup> and more
   * @throws E if {@code use} does
   * @throws IllegalStateException if {@code use} leaves bytes
   */
  public static <E extends Exception> void forEach(Pointer memory, long bytes, Use<E> use)
      throws E {
    long used = 0;
    while (used < bytes) {
      ByteBuffer piece = buffer(memory, used, Math.min(PIECE, bytes - used));
      use.accept(piece);
      used += piece.position();
      if (piece.hasRemaining()) {
        throw new IllegalStateException("only %d of %d bytes were used".formatted(used, bytes));
      }
    }
  }
}
