// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import java.util.List;
import java.util.function.Supplier;

/** The round-robin rule: position p of an order goes to rank p modulo world size. */
public final class Stride {
  private Stride() {}

  public static long sizeOfARank(long orderSize, int worldSize, int rank, Tail tail) {
    long whole = orderSize / worldSize;
    long rest = orderSize % worldSize;
    return switch (tail) {
      case PAD -> rest == 0 ? whole : whole + 1;
      case DROP -> whole;
      case UNEVEN -> rank < rest ? whole + 1 : whole;
    };
  }

  /** Opens one rank's part of what the segments left of an order. */
  public static Cursor open(
      Sampler plan, Supplier<PositionCursor> order, long orderSize, List<EpochSegment> delivered) {
    Tail tail = plan.tail();
    long first = prefix(orderSize, tail, delivered);
    long size = sizeOfARank(orderSize - first, plan.worldSize(), plan.rank(), tail);
    return new StridedCursor(
        plan, order.get(), orderSize, first + plan.rank(), plan.worldSize(), size);
  }

  /**
   * Returns how much of the order was delivered: a prefix, since each step delivers the next
   * positions.
   */
  private static long prefix(long orderSize, Tail tail, List<EpochSegment> delivered) {
    long prefix = 0;
    for (EpochSegment segment : delivered) {
      long left = orderSize - prefix;
      Segments.requireAtMost(segment, sizeOfARank(left, segment.worldSize(), 0, tail));
      prefix += Math.min(left, segment.deliveredByEachRank() * segment.worldSize());
    }
    return prefix;
  }
}
