// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.internal.Sha256;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;

/** The hashes of a rank's rows, in the order in which they were stored. Not thread-safe. */
final class HashList {
  private static final int FIRST_CAPACITY = 1 << 10;

  private long[] hashes = new long[FIRST_CAPACITY];
  private int size;

  void add(long hash) {
    if (size == hashes.length) {
      hashes = Arrays.copyOf(hashes, Math.addExact(size, size / 2));
    }
    hashes[size++] = hash;
  }

  int size() {
    return size;
  }

  /** Returns the places of the rows in ascending order of their hashes. */
  long[] placesByHash() {
    long[] sorted = Arrays.copyOf(hashes, size);
    Arrays.sort(sorted);
    long[] places = new long[size];
    int[] taken = new int[size]; // of equal hashes, so of equal rows, in any order
    for (int i = 0; i < size; i++) {
      int first = firstOf(sorted, hashes[i]);
      places[first + taken[first]++] = i;
    }
    return places;
  }

  private static int firstOf(long[] sorted, long hash) {
    int from = 0;
    int to = sorted.length;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (sorted[middle] < hash) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  /** Returns the SHA-256 of a description of the rows and of the hashes in the given order. */
  String digest(String description, RowOrder order) {
    long[] all = Arrays.copyOf(hashes, size);
    if (order == RowOrder.BY_CONTENT) {
      Arrays.sort(all);
    }
    MessageDigest digest = Sha256.start();
    digest.update(description.getBytes(StandardCharsets.UTF_8));
    ByteBuffer piece = ByteBuffer.allocate(Long.BYTES);
    for (long hash : all) {
      digest.update(piece.clear().putLong(hash).flip());
    }
    return Sha256.hex(digest);
  }
}
