// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.internal.RadixSort;
import io.torchfeed.internal.Sha256;
import io.torchfeed.spark.RowOrder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;

/** The hashes of a rank's rows, in the order in which they were stored. Not thread-safe. */
final class HashList {
  private static final int FIRST_CAPACITY = 1 << 10;
  private static final int PLACE_BITS = Integer.SIZE - 1;
  private static final int PIECE = 1 << 10;

  private long[] hashes = new long[FIRST_CAPACITY];
  private int size;

  /** The places in ascending order of their hashes, once they are sorted. */
  private long[] places = {};

  /** Adds a hash; not after the hashes were sorted. */
  void add(long hash) {
    if (size == hashes.length) {
      hashes = Arrays.copyOf(hashes, Math.addExact(size, size / 2));
    }
    hashes[size++] = hash;
  }

  int size() {
    return size;
  }

  /** Returns the places of the rows in ascending order of their hashes, equal ones as they came. */
  long[] placesByHash() {
    if (places.length != size) {
      places = sorted();
    }
    return places;
  }

  /**
   * Sorts the upper half of each hash with its place in one number: half as many bytes and bits to
   * move as with whole hashes. The few rows that agree in it are sorted by the lower half.
   */
  private long[] sorted() {
    long[] keys = new long[size];
    for (int i = 0; i < size; i++) {
      keys[i] = key((hashes[i] ^ Long.MIN_VALUE) >>> Integer.SIZE, i); // negative ones come first
    }
    RadixSort.sort(keys, size, PLACE_BITS, PLACE_BITS + Integer.SIZE);
    for (int from = 0; from < size; ) {
      int to = from + 1;
      while (to < size && keys[to] >>> PLACE_BITS == keys[from] >>> PLACE_BITS) {
        to++;
      }
      if (to > from + 1) {
        sortByLowerHalf(keys, from, to);
      }
      from = to;
    }
    for (int i = 0; i < size; i++) {
      keys[i] = place(keys[i]);
    }
    return keys;
  }

  private void sortByLowerHalf(long[] keys, int from, int to) {
    for (int i = from; i < to; i++) {
      int place = place(keys[i]);
      keys[i] = key(Integer.toUnsignedLong((int) hashes[place]), place);
    }
    Arrays.sort(keys, from, to);
  }

  private static long key(long half, int place) {
    return half << PLACE_BITS | place;
  }

  private static int place(long key) {
    return (int) key & Integer.MAX_VALUE;
  }

  /** Returns the SHA-256 of a description of the rows and of the hashes in the given order. */
  String digest(String description, RowOrder order) {
    long[] byHash = order == RowOrder.BY_CONTENT ? placesByHash() : null;
    MessageDigest digest = Sha256.start();
    digest.update(description.getBytes(StandardCharsets.UTF_8));
    ByteBuffer piece = ByteBuffer.allocate(PIECE * Long.BYTES);
    for (int from = 0; from < size; from += PIECE) {
      int to = Math.min(size, from + PIECE);
      piece.clear();
      for (int i = from; i < to; i++) {
        piece.putLong(hashes[byHash == null ? i : (int) byHash[i]]);
      }
      digest.update(piece.flip());
    }
    return Sha256.hex(digest);
  }
}
