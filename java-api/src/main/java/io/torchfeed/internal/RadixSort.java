// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.Arrays;

/** A sort of large arrays by a few bits: several times as fast as a comparison sort. */
public final class RadixSort {
  private static final int DIGIT_BITS = 11;
  private static final int BUCKETS = 1 << DIGIT_BITS;
  private static final int WORTH_IT = 1 << 12; // below, a comparison sort is as fast

  private RadixSort() {}

  /**
   * Sorts the first {@code count} numbers of an array, using as much memory again.
   *
   * @param numbers at least 0; numbers that agree in the bits to sort by are already in ascending
   *     order
   * @param fromBit the lowest bit to sort by
   * @param toBit no bit from this one on is set; at most 63
   */
  public static void sort(long[] numbers, int count, int fromBit, int toBit) {
    if (count < WORTH_IT) {
      Arrays.sort(numbers, 0, count);
      return;
    }
    long[] source = numbers;
    long[] target = new long[count];
    int[] starts = new int[BUCKETS];
    for (int shift = fromBit; shift < toBit; shift += DIGIT_BITS) {
      Arrays.fill(starts, 0);
      for (int i = 0; i < count; i++) {
        starts[digit(source[i], shift)]++;
      }
      if (starts[digit(source[0], shift)] == count) {
        continue; // all equal in these bits
      }
      int start = 0;
      for (int bucket = 0; bucket < BUCKETS; bucket++) {
        int size = starts[bucket];
        starts[bucket] = start;
        start += size;
      }
      for (int i = 0; i < count; i++) {
        target[starts[digit(source[i], shift)]++] = source[i];
      }
      long[] sorted = target;
      target = source;
      source = sorted;
    }
    if (source != numbers) {
      System.arraycopy(source, 0, numbers, 0, count);
    }
  }

  private static int digit(long number, int shift) {
    return (int) (number >>> shift) & (BUCKETS - 1);
  }
}
