// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * A list cut into one contiguous slice a rank, of which each rank delivered the first part. What is
 * left are the tails of the slices in ascending position, and what was cut off at the end.
 */
final class Slices {
  private final long listSize;
  private final int worldSize;
  private final long slice;
  private final long delivered;
  private final long tail;

  /**
   * A cut list.
   *
   * @throws IllegalArgumentException if the segment is longer than a slice
   */
  Slices(long listSize, Segment segment, Tail tail) {
    this.listSize = listSize;
    this.worldSize = segment.worldSize();
    this.slice = Arguments.samplesOfARank(listSize, worldSize, tail);
    this.delivered = segment.deliveredByEachRank();
    this.tail = slice - delivered;
    segment.requireAtMost(slice);
  }

  /** The number of positions that are left. */
  long left() {
    if (slice == 0) {
      return listSize;
    }
    long whole = Math.min(worldSize, listSize / slice);
    long behind = listSize - whole * slice;
    return whole * tail + (whole == worldSize ? behind : Math.max(0, behind - delivered));
  }

  /**
   * The position in the list of one that is left.
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
