// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** A reader of messages that a {@link WireWriter} wrote. */
final class WireReader {
  private final int from;
  private final byte[] bytes;
  private int at;

  /** Creates a reader of a message from rank {@code from}. */
  WireReader(int from, byte[] bytes) {
    this.from = from;
    this.bytes = bytes;
  }

  boolean hasMore() {
    return at < bytes.length;
  }

  byte[] bytes() {
    return bytes;
  }

  /** Skips bytes; returns the position at which they begin. */
  int skip(int count) {
    if (count < 0 || bytes.length - at < count) {
      throw new ExchangeException(
          from,
          "rank %d sent a message of %d bytes that is truncated at %d"
              .formatted(from, bytes.length, at));
    }
    int start = at;
    at += count;
    return start;
  }

  byte getByte() {
    return bytes[skip(1)];
  }

  long getLong() {
    return (long) WireWriter.LONG.get(bytes, skip(Long.BYTES));
  }

  double getDouble() {
    return Double.longBitsToDouble(getLong());
  }

  int getLength() {
    return (int) WireWriter.INT.get(bytes, skip(Integer.BYTES));
  }
}
