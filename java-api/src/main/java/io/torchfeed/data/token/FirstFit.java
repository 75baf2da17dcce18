// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

/**
 * The first-fit rule: a piece goes into the first window with enough room, or a new one. The room
 * of windows is the leaves of a tree whose nodes have the most of their children, so a piece takes
 * O(log windows).
 */
final class FirstFit {
  private final int length;
  private int capacity = 1;
  private int[] most = new int[2]; // node i has the children 2i and 2i + 1; the leaves are last
  private int windows;

  FirstFit(int length) {
    this.length = length;
  }

  int windows() {
    return windows;
  }

  /**
   * Returns the window of a piece.
   *
   * @param tokens of the piece, in [1, length]
   */
  int place(int tokens) {
    if (tokens == length || most[1] < tokens) {
      return open(length - tokens);
    }
    int node = 1;
    while (node < capacity) {
      node *= 2;
      if (most[node] < tokens) {
        node++;
      }
    }
    set(node, most[node] - tokens);
    return node - capacity;
  }

  private int open(int room) {
    if (windows == capacity) {
      grow();
    }
    set(capacity + windows, room);
    return windows++;
  }

  private void set(int leaf, int room) {
    most[leaf] = room;
    for (int node = leaf / 2; node > 0; node /= 2) {
      most[node] = Math.max(most[2 * node], most[2 * node + 1]);
    }
  }

  private void grow() {
    if (capacity > 1 << 28) {
      throw new IllegalArgumentException(
          "there must be at most %d windows, got more; divide the files".formatted(capacity));
    }
    int[] before = most;
    int old = capacity;
    capacity = 2 * old;
    most = new int[2 * capacity];
    System.arraycopy(before, old, most, capacity, windows);
    for (int node = capacity - 1; node > 0; node--) {
      most[node] = Math.max(most[2 * node], most[2 * node + 1]);
    }
  }
}
