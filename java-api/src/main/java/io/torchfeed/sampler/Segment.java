// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/**
 * A part of an epoch that one number of ranks delivered, each rank equally much: indices, or
 * batches where a plan is divided in whole batches ({@link BatchCursor#delivered}).
 *
 * @param worldSize number of ranks, at least 1
 * @param deliveredByEachRank how much each of them delivered, at least 0
 */
public record Segment(int worldSize, long deliveredByEachRank) {
  /**
   * A part of an epoch.
   *
   * @param worldSize number of ranks, at least 1
   * @param deliveredByEachRank how much each of them delivered, at least 0
   * @throws IllegalArgumentException if an argument is too small
   */
  public Segment {
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize must be at least 1, got " + worldSize);
    }
    if (deliveredByEachRank < 0) {
      throw new IllegalArgumentException(
          "deliveredByEachRank must be at least 0, got " + deliveredByEachRank);
    }
  }

  /** The segments in which anything was delivered; the others leave no trace in an epoch. */
  static List<Segment> withoutEmptyOnes(List<Segment> segments) {
    return segments.stream().filter(segment -> segment.deliveredByEachRank() > 0).toList();
  }

  /** The segments that precede what is delivered by so many ranks now. */
  static List<Segment> before(List<Segment> segments, int worldSize) {
    int last = segments.size() - 1;
    boolean goesOn = last >= 0 && segments.get(last).worldSize() == worldSize;
    return goesOn ? segments.subList(0, last) : segments;
  }

  /** Requires that each rank had that much to deliver. */
  void requireAtMost(long most) {
    if (deliveredByEachRank > most) {
      throw new IllegalArgumentException(
          "each rank of a segment can have delivered %d at most, got %s".formatted(most, this));
    }
  }
}
