// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/** A sort of indices by keys that avoids boxing: stable, O(n log n), 8 bytes per index. */
public final class KeyOrder {
  private KeyOrder() {}

  /** Returns the indices of the keys, smallest key first, equal keys by ascending index. */
  public static int[] ascending(double[] keys) {
    int count = keys.length;
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      order[i] = i;
    }
    int[] other = new int[count];
    for (long width = 1; width < count; width *= 2) {
      for (long low = 0; low < count; low += 2 * width) {
        int middle = (int) Math.min(low + width, count);
        merge(keys, order, other, (int) low, middle, (int) Math.min(low + 2 * width, count));
      }
      int[] merged = other;
      other = order;
      order = merged;
    }
    return order;
  }

  private static void merge(double[] keys, int[] from, int[] into, int low, int middle, int high) {
    int left = low;
    int right = middle;
    for (int i = low; i < high; i++) {
      boolean takeLeft = left < middle && (right == high || keys[from[left]] <= keys[from[right]]);
      into[i] = takeLeft ? from[left++] : from[right++];
    }
  }
}
