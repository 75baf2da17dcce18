// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/**
 * A part of an epoch that one number of ranks delivered, each rank the same number of indices.
 *
 * @param worldSize number of ranks, at least 1
 * @param deliveredByEachRank number of indices that each of them delivered, at least 0
 */
public record Segment(int worldSize, long deliveredByEachRank) {
  /**
   * A part of an epoch.
   *
   * @param worldSize number of ranks, at least 1
   * @param deliveredByEachRank number of indices that each of them delivered, at least 0
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

  /** Requires that each rank had that much to deliver. */
  void requireAtMost(long most) {
    if (deliveredByEachRank > most) {
      throw new IllegalArgumentException(
          "each rank of a segment can have delivered %d indices at most, got %s"
              .formatted(most, this));
    }
  }
}
