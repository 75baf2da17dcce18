// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.EpochSegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of an epoch after its segments. An epoch is divided among the ranks when it begins, and
 * its rest is divided again each time the number of ranks changes.
 *
 * @param part the part being delivered, divided among the current ranks
 * @param delivered the amount of the part that each rank has delivered
 */
public record EpochProgress<P>(P part, long delivered) {
  /** A way to divide an epoch among ranks. */
  public interface Division<P> {
    /** Divides the whole epoch among {@code worldSize} ranks. */
    P begin(int worldSize);

    /** Divides the rest of a part after each of its ranks has delivered {@code delivered}. */
    P divideRest(P part, long delivered, int worldSize);

    /** Returns the size of each rank's share of a part; the largest if they differ. */
    long size(P part);
  }

  /**
   * Follows an epoch through its segments.
   *
   * @param worldSize the current number of ranks
   * @throws IllegalArgumentException if a segment is longer than the remainder that the preceding
   *     ones left
   */
  public static <P> EpochProgress<P> of(
      Division<P> division, List<EpochSegment> segments, int worldSize) {
    @Nullable P part = null;
    int ranks = 0;
    long delivered = 0;
    for (EpochSegment segment : Segments.withoutEmptyOnes(segments)) {
      if (part == null) {
        part = division.begin(segment.worldSize());
      } else if (segment.worldSize() != ranks) {
        part = division.divideRest(part, delivered, segment.worldSize());
        delivered = 0;
      }
      ranks = segment.worldSize();
      Segments.requireAtMost(segment, division.size(part) - delivered);
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
