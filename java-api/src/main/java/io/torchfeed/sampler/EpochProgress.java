// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where an epoch stands after its segments. It is divided when it begins, and what is left of it
 * again each time the number of ranks changes.
 *
 * @param part what is being delivered, divided over the present ranks
 * @param delivered how much of the part each rank has delivered
 */
record EpochProgress<P>(P part, long delivered) {
  /** How an epoch is divided over ranks. */
  interface Division<P> {
    /** The whole epoch. */
    P begin(int worldSize);

    /** What is left of a part when each of its ranks has delivered so much. */
    P divideRest(P part, long delivered, int worldSize);

    /** How much each rank has of a part; the longest one where they differ. */
    long size(P part);
  }

  /**
   * Follows an epoch through its segments.
   *
   * @param worldSize the present number of ranks
   * @throws IllegalArgumentException if a segment is longer than what the ones before it left
   */
  static <P> EpochProgress<P> of(Division<P> division, List<Segment> segments, int worldSize) {
    @Nullable P part = null;
    int ranks = 0;
    long delivered = 0;
    for (Segment segment : Segment.withoutEmptyOnes(segments)) {
      if (part == null) {
        part = division.begin(segment.worldSize());
      } else if (segment.worldSize() != ranks) {
        part = division.divideRest(part, delivered, segment.worldSize());
        delivered = 0;
      }
      ranks = segment.worldSize();
      segment.requireAtMost(division.size(part) - delivered);
      delivered += segment.deliveredByEachRank();
    }
    if (part == null) {
      return new EpochProgress<>(division.begin(worldSize), 0);
    }
    return ranks == worldSize
        ? new EpochProgress<>(part, delivered)
        : new EpochProgress<>(division.divideRest(part, delivered, worldSize), 0);
  }
}
