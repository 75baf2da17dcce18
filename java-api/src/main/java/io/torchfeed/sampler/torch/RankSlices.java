// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.Segments;
import io.torchfeed.sampler.cursor.Stride;

/**
 * A list cut into one contiguous slice per rank; each rank delivered the first part of its own. The
 * rest consists of the tails of the slices, in ascending order, and of the samples cut off at the
 * end.
 */
final class RankSlices {
  private final long listSize;
  private final int worldSize;
  private final long slice;
  private final long delivered;
  private final long tail;

  /**
   * Creates a cut list.
   *
   * @throws IllegalArgumentException if the segment is longer than a slice
   */
  RankSlices(long listSize, EpochSegment segment, Tail tail) {
    this.listSize = listSize;
    this.worldSize = segment.worldSize();
    this.slice = Stride.sizeOfLongestRank(listSize, worldSize, tail);
    this.delivered = segment.deliveredByEachRank();
    this.tail = slice - delivered;
    Segments.requireAtMost(segment, slice);
  }

  /** Returns the number of positions left. */
  long left() {
    if (slice == 0) {
      return listSize;
    }
    long whole = Math.min(worldSize, listSize / slice);
    long behind = listSize - whole * slice;
    return whole * tail + (whole == worldSize ? behind : Math.max(0, behind - delivered));
  }

  /**
   * Returns the list position of an element of the rest.
   *
   * @param index in [0, left())
   */
  long position(long index) {
    long rank = tail == 0 ? worldSize : index / tail;
    return rank >= worldSize
        ? worldSize * delivered + index
        : rank * slice + delivered + index % tail;
  }
}
