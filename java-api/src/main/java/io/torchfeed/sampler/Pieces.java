// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/** A list of positions of an order as consecutive pieces, in ascending position. Immutable. */
final class Pieces {
  private final long[] starts;
  private final long[] before;

  private Pieces(long[] starts, long[] before) {
    this.starts = starts;
    this.before = before;
  }

  static Pieces whole(long size) {
    Builder builder = new Builder();
    builder.add(0, size);
    return builder.build();
  }

  /** The number of positions. */
  long size() {
    return before[starts.length];
  }

  /** The number of pieces; none is empty. */
  int count() {
    return starts.length;
  }

  /** The number of positions in the pieces before one. */
  long before(int piece) {
    return before[piece];
  }

  /** The position in the order of one of the list. */
  long at(long place) {
    int piece = pieceAt(place);
    return starts[piece] + place - before[piece];
  }

  /** The piece that a place of the list lies in. */
  private int pieceAt(long place) {
    int found = Arrays.binarySearch(before, 0, starts.length, place);
    return found < 0 ? -found - 2 : found;
  }

  /** Collects pieces. Not thread-safe. */
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

    /** Adds what lies between two places of a list. */
    void add(Pieces list, long from, long to) {
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

    Pieces build() {
      return new Pieces(Arrays.copyOf(starts, count), Arrays.copyOf(before, count + 1));
    }
  }
}
