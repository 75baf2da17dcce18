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
  private static final int DIGIT_BITS = 11;
  private static final int PIECE = 1 << 10;

  private long[] hashes = new long[FIRST_CAPACITY];
  private int size;

  /** The hashes in ascending order, and the place of each, once they are sorted. */
  private long[] sorted = {};

  private int[] places = {};

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
    sort();
    long[] byHash = new long[size];
    for (int i = 0; i < size; i++) {
      byHash[i] = places[i];
    }
    return byHash;
  }

  /**
   * Sorts hashes with their places, digit by digit from the last one: all passes read in order, and
   * write to few places at a time, while a search for each row would miss the cache.
   */
  private void sort() {
    if (places.length == size) {
      return;
    }
    sorted = Arrays.copyOf(hashes, size);
    places = new int[size];
    for (int i = 0; i < size; i++) {
      places[i] = i;
    }
    long[] otherHashes = new long[size];
    int[] otherPlaces = new int[size];
    for (int shift = 0; shift < Long.SIZE; shift += DIGIT_BITS) {
      int[] next = starts(sorted, shift);
      for (int i = 0; i < size; i++) {
        int to = next[digit(sorted[i], shift)]++;
        otherHashes[to] = sorted[i];
        otherPlaces[to] = places[i];
      }
      long[] hashesBefore = sorted;
      sorted = otherHashes;
      otherHashes = hashesBefore;
      int[] placesBefore = places;
      places = otherPlaces;
      otherPlaces = placesBefore;
    }
  }

  /** Returns where the hashes with each digit begin. */
  private static int[] starts(long[] hashes, int shift) {
    int[] starts = new int[(1 << DIGIT_BITS) + 1];
    for (long hash : hashes) {
      starts[digit(hash, shift) + 1]++;
    }
    for (int i = 1; i < starts.length; i++) {
      starts[i] += starts[i - 1];
    }
    return starts;
  }

  /** Returns a digit of a hash, whose sign is turned so that negative ones come first. */
  private static int digit(long hash, int shift) {
    return (int) ((hash ^ Long.MIN_VALUE) >>> shift) & ((1 << DIGIT_BITS) - 1);
  }

  /** Returns the SHA-256 of a description of the rows and of the hashes in the given order. */
  String digest(String description, RowOrder order) {
    if (order == RowOrder.BY_CONTENT) {
      sort();
    }
    long[] all = order == RowOrder.BY_CONTENT ? sorted : hashes;
    MessageDigest digest = Sha256.start();
    digest.update(description.getBytes(StandardCharsets.UTF_8));
    ByteBuffer piece = ByteBuffer.allocate(PIECE * Long.BYTES);
    for (int from = 0; from < size; from += PIECE) {
      int count = Math.min(PIECE, size - from);
      piece.clear().asLongBuffer().put(all, from, count);
      digest.update(piece.limit(count * Long.BYTES));
    }
    return Sha256.hex(digest);
  }
}
