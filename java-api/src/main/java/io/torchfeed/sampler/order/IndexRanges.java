// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import java.util.Arrays;

/** A list of positions in an order, stored as contiguous pieces in ascending order. Immutable. */
final class IndexRanges {
  private final long[] starts;
  private final long[] before;

  private IndexRanges(long[] starts, long[] before) {
    this.starts = starts;
    this.before = before;
  }

  static IndexRanges whole(long size) {
    Builder builder = new Builder();
    builder.add(0, size);
    return builder.build();
  }

  /** Returns the number of positions. */
  long size() {
    return before[starts.length];
  }

  /** Returns the number of pieces, none of which is empty. */
  int count() {
    return starts.length;
  }

  /** Returns the number of positions in the pieces before {@code piece}. */
  long before(int piece) {
    return before[piece];
  }

  /** Returns the position in the order that the list has at {@code place}. */
  long at(long place) {
    int piece = pieceAt(place);
    return starts[piece] + place - before[piece];
  }

  /** Returns the piece that contains a place of the list. */
  private int pieceAt(long place) {
    int found = Arrays.binarySearch(before, 0, starts.length, place);
    return found < 0 ? -found - 2 : found;
  }

  /** A builder that collects pieces. Not thread-safe. */
  static final class Builder {
    private long[] starts = new long[8];
    private long[] before = new long[8];
    private int count;

    /** Adds a piece of the order, unless it is empty. */
    void add(long start, long end) {
      if (start >= end) {
        return;
      }
      if (count + 1 == before.length) {
        starts = Arrays.copyOf(starts, 2 * count + 2);
        before = Arrays.copyOf(before, 2 * count + 2);
      }
      starts[count] = start;
      before[count + 1] = before[count] + end - start;
      count++;
    }

    /** Adds the positions between two places of a list. */
    void add(IndexRanges list, long from, long to) {
      if (from >= to) {
        return;
      }
      int piece = list.pieceAt(from);
      for (long place = from; place < to; piece++) {
        long end = Math.min(to, list.before[piece + 1]);
        long start = list.starts[piece] + place - list.before[piece];
        add(start, start + end - place);
        place = end;
      }
    }

    IndexRanges build() {
      return new IndexRanges(Arrays.copyOf(starts, count), Arrays.copyOf(before, count + 1));
    }
  }
}
