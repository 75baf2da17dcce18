// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A writer of a message that grows as needed; little-endian. */
final class WireWriter {
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int MAX_BYTES = Integer.MAX_VALUE - 8;

  private byte[] bytes = new byte[1 << 8];
  private int length;

  int length() {
    return length;
  }

  void putByte(int value) {
    reserve(1);
    bytes[length++] = (byte) value;
  }

  void putLong(long value) {
    reserve(Long.BYTES);
    LONG.set(bytes, length, value);
    length += Long.BYTES;
  }

  void putDouble(double value) {
    putLong(Double.doubleToRawLongBits(value));
  }

  /** Writes an edge whose ids are numbers. */
  void putEdge(long first, long second, double weight) {
    reserve(3 * Long.BYTES);
    LONG.set(bytes, length, first);
    LONG.set(bytes, length + Long.BYTES, second);
    LONG.set(bytes, length + 2 * Long.BYTES, Double.doubleToRawLongBits(weight));
    length += 3 * Long.BYTES;
  }

  /** Writes a length, followed by that many bytes. */
  void putBytes(byte[] from, int start, int end) {
    reserve((long) Integer.BYTES + end - start);
    INT.set(bytes, length, end - start);
    System.arraycopy(from, start, bytes, length + Integer.BYTES, end - start);
    length += Integer.BYTES + end - start;
  }

  private void reserve(long more) {
    long needed = length + more;
    if (needed > bytes.length) {
      if (needed > MAX_BYTES) {
        throw new IllegalStateException(
            "a message must have at most %d bytes, got %d".formatted(MAX_BYTES, needed));
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(MAX_BYTES, Math.max(needed, 2L * bytes.length)));
    }
  }

  /** Returns the bytes written and starts a new message. */
  byte[] take() {
    byte[] message = Arrays.copyOf(bytes, length);
    length = 0;
    return message;
  }
}
