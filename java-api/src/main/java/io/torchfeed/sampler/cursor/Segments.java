// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.EpochSegment;
import java.util.ArrayList;
import java.util.List;

/** The segments of an epoch, oldest first. */
public final class Segments {
  private Segments() {}

  /**
   * Returns the segments in which anything was delivered; the others leave no trace in an epoch.
   */
  public static List<EpochSegment> withoutEmptyOnes(List<EpochSegment> segments) {
    return segments.stream().filter(segment -> segment.deliveredByEachRank() > 0).toList();
  }

  /**
   * Returns the segments in which anything was delivered, merging neighbours of equal world size.
   */
  static List<EpochSegment> joined(List<EpochSegment> segments) {
    List<EpochSegment> joined = new ArrayList<>();
    for (EpochSegment segment : withoutEmptyOnes(segments)) {
      int last = joined.size() - 1;
      if (last >= 0 && joined.get(last).worldSize() == segment.worldSize()) {
        long sum = joined.get(last).deliveredByEachRank() + segment.deliveredByEachRank();
        joined.set(last, new EpochSegment(segment.worldSize(), sum < 0 ? Long.MAX_VALUE : sum));
      } else {
        joined.add(segment);
      }
    }
    return joined;
  }

  /** Returns the segments before the one that {@code worldSize} ranks are now delivering. */
  public static List<EpochSegment> before(List<EpochSegment> segments, int worldSize) {
    int last = segments.size() - 1;
    boolean continues = last >= 0 && segments.get(last).worldSize() == worldSize;
    return continues ? segments.subList(0, last) : segments;
  }

  /** Requires that each rank delivered at most this amount. */
  public static void requireAtMost(EpochSegment segment, long most) {
    if (segment.deliveredByEachRank() > most) {
      throw new IllegalArgumentException(
          "each rank of a segment can have delivered at most %d, got %s".formatted(most, segment));
    }
  }
}
