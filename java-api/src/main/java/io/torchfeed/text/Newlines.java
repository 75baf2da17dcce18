// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** A search for newlines, eight bytes at a time. */
final class Newlines {
  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long EACH = 0x0101010101010101L;
  private static final long NEWLINES = '\n' * EACH;
  private static final long LOW_BITS = 0x7f * EACH;

  /**
   * The number of bytes scanned at once, small enough that they stay in the L1 cache until used.
   */
  static final int WINDOW = 1 << 13;

  /** The positions of the newlines, from index 1 on; has room even if all bytes are newlines. */
  final int[] ends = new int[WINDOW + 1];

  private int count;
  private int scanned;

  /** Sets bit 7 of exactly those bytes that are newlines: no carry reaches the next byte. */
  private static long marks(long word) {
    long difference = word ^ NEWLINES;
    return ~((difference & LOW_BITS) + LOW_BITS | difference | LOW_BITS);
  }

  /** Finds the newlines in the first bytes of [from, to). */
  void find(byte[] bytes, int from, int to) {
    int[] found = ends;
    int until = Math.min(to, from + WINDOW);
    int n = 0;
    int at = from;
    for (; at <= until - Long.BYTES; at += Long.BYTES) {
      for (long m = marks((long) WORD.get(bytes, at)); m != 0; m &= m - 1) {
        found[++n] = at + (Long.numberOfTrailingZeros(m) >>> 3);
      }
    }
    for (; at < until; at++) {
      if (bytes[at] == '\n') {
        found[++n] = at;
      }
    }
    count = n;
    scanned = until;
  }

  /** Returns the number of newlines in [from, to). */
  static long count(byte[] bytes, int from, int to) {
    long n = 0;
    int at = from;
    for (; at <= to - Long.BYTES; at += Long.BYTES) {
      n += Long.bitCount(marks((long) WORD.get(bytes, at)));
    }
    for (; at < to; at++) {
      n += bytes[at] == '\n' ? 1 : 0;
    }
    return n;
  }

  void clear(int at) {
    count = 0;
    scanned = at;
  }

  int count() {
    return count;
  }

  /** Returns the position up to which bytes have been scanned. */
  int scanned() {
    return scanned;
  }
}
