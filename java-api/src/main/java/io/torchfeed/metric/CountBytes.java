// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import io.torchfeed.internal.Varint;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Whole numbers as bytes, small ones as few: seven bits in each, the lowest first. */
final class CountBytes {
  private static final int BITS = 7;
  private static final int MORE = 1 << BITS;

  private CountBytes() {}

  /** Writes numbers. */
  static final class Writer {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    void put(long number) {
      Varint.write(number, out);
    }

    void put(byte[] bytes) {
      put(bytes.length);
      out.writeBytes(bytes);
    }

    void put(String text) {
      put(text.getBytes(StandardCharsets.UTF_8));
    }

    byte[] bytes() {
      return out.toByteArray();
    }
  }

  /** Reads numbers; each method throws {@link IllegalArgumentException} if they are malformed. */
  static final class Reader {
    private final byte[] bytes;
    private int at;

    Reader(byte[] bytes) {
      this.bytes = bytes;
    }

    long next() {
      long number = 0;
      for (int shift = 0; shift < Long.SIZE; shift += BITS) {
        if (at == bytes.length) {
          throw malformed();
        }
        byte next = bytes[at++];
        number |= (long) (next & (MORE - 1)) << shift;
        if (next >= 0) {
          return number;
        }
      }
      throw malformed();
    }

    /** Returns a number of at least 0. */
    long count() {
      long number = next();
      if (number < 0) {
        throw malformed();
      }
      return number;
    }

    byte[] array() {
      long length = next();
      if (length < 0 || length > bytes.length - at) {
        throw malformed();
      }
      byte[] array = new byte[Math.toIntExact(length)];
      System.arraycopy(bytes, at, array, 0, array.length);
      at += array.length;
      return array;
    }

    String text() {
      return new String(array(), StandardCharsets.UTF_8);
    }

    boolean isAtEnd() {
      return at == bytes.length;
    }

    void end() {
      if (!isAtEnd()) {
        throw malformed();
      }
    }

    IllegalArgumentException malformed() {
      return new IllegalArgumentException("the counts of a metric are malformed at byte " + at);
    }
  }
}
