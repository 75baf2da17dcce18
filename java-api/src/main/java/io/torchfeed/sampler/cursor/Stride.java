// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import java.util.List;
import java.util.function.Supplier;

/** The round-robin rule: position p of an order goes to rank p modulo world size. */
public final class Stride {
  private Stride() {}

  public static long sizeOfARank(long orderSize, Part part, Tail tail) {
    boolean isShort = tail == Tail.UNEVEN && part.rank() >= orderSize % part.worldSize();
    return sizeOfLongestRank(orderSize, part.worldSize(), isShort ? Tail.DROP : tail);
  }

  /** Returns the size of the longest rank, which is the first. */
  public static long sizeOfLongestRank(long orderSize, int worldSize, Tail tail) {
    long whole = orderSize / worldSize;
    return tail == Tail.DROP || orderSize % worldSize == 0 ? whole : whole + 1;
  }

  /** Opens one rank's part of the positions that the segments left. */
  public static Cursor open(
      Sampler plan, Supplier<PositionCursor> order, long orderSize, List<EpochSegment> delivered) {
    Tail tail = plan.tail();
    long first = prefix(orderSize, tail, delivered);
    Part part = plan.part();
    long size = sizeOfARank(orderSize - first, part, tail);
    long longest = sizeOfLongestRank(orderSize - first, part.worldSize(), tail);
    return new StridedCursor(
        plan, order.get(), orderSize, first + part.rank(), part.worldSize(), size, longest);
  }

  /**
   * Returns how much of the order the segments delivered: a prefix, since each step delivers the
   * next positions.
   */
  public static long prefix(long orderSize, Tail tail, List<EpochSegment> delivered) {
    long prefix = 0;
    for (EpochSegment segment : delivered) {
      long left = orderSize - prefix;
      Segments.requireAtMost(segment, sizeOfLongestRank(left, segment.worldSize(), tail));
      prefix += Math.min(left, segment.deliveredByEachRank() * segment.worldSize());
    }
    return prefix;
  }
}
