// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import io.torchfeed.internal.IndexList;
import java.util.Arrays;

/** A list of numbers that grows. */
final class LongList {
  private long[] numbers = new long[16];
  private int size;

  void add(long number) {
    if (size == numbers.length) {
      if (size == IndexList.MAX_SIZE) {
        throw new IllegalArgumentException(
            "there must be at most %d documents or windows, got more; divide the files"
                .formatted(IndexList.MAX_SIZE));
      }
      numbers = Arrays.copyOf(numbers, (int) Math.min(IndexList.MAX_SIZE, 2L * size));
    }
    numbers[size++] = number;
  }

  int size() {
    return size;
  }

  long[] toArray() {
    return Arrays.copyOf(numbers, size);
  }
}
