// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.Arrays;

/** The fields of one line, as parts of its bytes. Not thread-safe. */
public final class Fields {
  private int[] bounds = new int[16];
  private int count;

  Fields() {}

  /**
   * Adds the next field.
   *
   * @param start the position of its first byte
   * @param end the position behind its last byte, at least {@code start}
   */
  public void add(int start, int end) {
    if (2 * count == bounds.length) {
      bounds = Arrays.copyOf(bounds, 2 * bounds.length);
    }
    bounds[2 * count] = start;
    bounds[2 * count + 1] = end;
    count++;
  }

  /**
   * How many fields there are so far.
   *
   * @return the number of fields, at least 0
   */
  public int count() {
    return count;
  }

  void clear() {
    count = 0;
  }

  int start(int field) {
    return bounds[2 * field];
  }

  int end(int field) {
    return bounds[2 * field + 1];
  }
}
