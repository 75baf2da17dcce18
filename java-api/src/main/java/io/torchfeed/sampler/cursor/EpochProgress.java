// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.EpochSegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The progress of an epoch through its segments. It is divided among the ranks when it begins, and
 * its rest is divided again each time the number of ranks changes.
 */
public final class EpochProgress {
  private EpochProgress() {}

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
   * Returns the part that follows the segments, divided among the current ranks: the last
   * segment's, if as many ranks delivered it.
   *
   * @param worldSize the current number of ranks
   * @throws IllegalArgumentException if a segment is longer than the remainder that the preceding
   *     ones left
   */
  public static <P> P rest(Division<P> division, List<EpochSegment> segments, int worldSize) {
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
      return division.begin(worldSize);
    }
    return ranks == worldSize ? part : division.divideRest(part, delivered, worldSize);
  }
}
