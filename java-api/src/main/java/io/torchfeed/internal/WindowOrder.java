// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.Arrays;
import java.util.function.IntToLongFunction;

/**
 * A sort of the positions 0..n-1 by a 62-bit key, equal keys by position, in 16 bytes per position.
 */
public final class WindowOrder {
  private WindowOrder() {}

  /**
   * Returns the sorted positions.
   *
   * @param largestKey an upper bound on the keys; the smaller it is, the faster the sort
   */
  public static int[] sorted(int count, long largestKey, IntToLongFunction keyOfAPosition) {
    int positionBits = bits(count);
    int cut = Math.max(0, bits(largestKey) + positionBits - Long.SIZE + 1);
    long[] packed = new long[count];
    for (int i = 0; i < count; i++) {
      packed[i] = ((keyOfAPosition.applyAsLong(i) >>> cut) << positionBits) | i;
    }
    RadixSort.sort(packed, count, positionBits, bits(largestKey >>> cut) + positionBits);
    long positionMask = (1L << positionBits) - 1;
    if (cut > 0) {
      sortLowBits(packed, positionBits, (1L << cut) - 1, keyOfAPosition);
    }
    int[] positions = new int[count];
    for (int i = 0; i < count; i++) {
      positions[i] = (int) (packed[i] & positionMask);
    }
    return positions;
  }

  /** Sorts each run of keys that are equal so far by the bits that were cut off. */
  private static void sortLowBits(
      long[] packed, int positionBits, long lowMask, IntToLongFunction keyOfAPosition) {
    long positionMask = (1L << positionBits) - 1;
    int start = 0;
    while (start < packed.length) {
      long high = packed[start] >>> positionBits;
      int end = start;
      for (; end < packed.length && packed[end] >>> positionBits == high; end++) {
        long position = packed[end] & positionMask;
        long low = keyOfAPosition.applyAsLong((int) position) & lowMask;
        packed[end] = (low << positionBits) | position;
      }
      Arrays.sort(packed, start, end);
      start = end;
    }
  }

  private static int bits(long value) {
    return Long.SIZE - Long.numberOfLeadingZeros(value);
  }
}
