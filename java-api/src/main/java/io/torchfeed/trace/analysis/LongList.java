// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import java.util.Arrays;

/** Numbers in an array that grows. */
final class LongList {
  private long[] numbers = new long[64];
  private int size;

  void add(long number) {
    if (size == numbers.length) {
      numbers = Arrays.copyOf(numbers, 2 * size);
    }
    numbers[size++] = number;
  }

  int size() {
    return size;
  }

  long get(int index) {
    return numbers[index];
  }
}
