// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Ranges of text as bytes: version 1 (int8), digest (int64), number of ranges (int32), and for each
 * range its start, end and text offset (int64 each), all big-endian. Saved states have this form,
 * and shuffles draw from its Base64.
 *
 * @param digest of the files
 * @param ranges three numbers each
 */
public record RangeBytes(long digest, List<Range> ranges) {
  private static final byte VERSION = 1;
  private static final int HEAD_BYTES = 1 + Long.BYTES + Integer.BYTES;
  private static final int RANGE_BYTES = 3 * Long.BYTES;

  /** A range of a text. */
  public record Range(long start, long end, long textOffset) {}

  /**
   * Reads the bytes that {@link #toBytes} returned.
   *
   * @throws IllegalArgumentException if they have another form
   */
  public static RangeBytes read(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    try {
      byte version = in.get();
      if (version != VERSION) {
        throw new IllegalArgumentException(
            "the version of a text state must be %d, got %d".formatted(VERSION, version));
      }
      long digest = in.getLong();
      int count = in.getInt();
      if (count < 0 || in.remaining() != (long) count * RANGE_BYTES) {
        throw new IllegalArgumentException(
            "a text state of %d ranges must have %d bytes, got %d"
                .formatted(count, HEAD_BYTES + (long) count * RANGE_BYTES, bytes.length));
      }
      List<Range> ranges = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        ranges.add(new Range(in.getLong(), in.getLong(), in.getLong()));
      }
      return new RangeBytes(digest, ranges);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException(
          "a text state must have at least %d bytes, got %d".formatted(HEAD_BYTES, bytes.length),
          e);
    }
  }

  /** Returns all bytes. */
  public byte[] toBytes() {
    ByteBuffer bytes = ByteBuffer.allocate(HEAD_BYTES + ranges.size() * RANGE_BYTES);
    bytes.put(VERSION).putLong(digest).putInt(ranges.size());
    for (Range range : ranges) {
      bytes.putLong(range.start).putLong(range.end).putLong(range.textOffset);
    }
    return bytes.array();
  }
}
