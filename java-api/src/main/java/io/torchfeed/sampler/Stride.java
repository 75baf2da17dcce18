// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;
import java.util.function.Supplier;

/** The rule by which an order is dealt over ranks: position p goes to rank p modulo world size. */
final class Stride {
  private Stride() {}

  static long sizeOfARank(long orderSize, int worldSize, int rank, Tail tail) {
    long whole = orderSize / worldSize;
    long rest = orderSize % worldSize;
    return switch (tail) {
      case PAD -> rest == 0 ? whole : whole + 1;
      case DROP -> whole;
      case UNEVEN -> rank < rest ? whole + 1 : whole;
    };
  }

  /** Opens one rank's part of what the segments left of an order. */
  static Cursor open(
      DistributedSampler plan,
      Supplier<PositionCursor> order,
      long orderSize,
      Tail tail,
      List<Segment> delivered) {
    long first = prefix(orderSize, tail, delivered);
    long size = sizeOfARank(orderSize - first, plan.worldSize(), plan.rank(), tail);
    return new StridedCursor(
        plan, order.get(), orderSize, first + plan.rank(), plan.worldSize(), size);
  }

  /** How much of the order was delivered: its first part, since step by step it is a prefix. */
  private static long prefix(long orderSize, Tail tail, List<Segment> delivered) {
    long prefix = 0;
    for (Segment segment : delivered) {
      long left = orderSize - prefix;
      segment.requireAtMost(sizeOfARank(left, segment.worldSize(), 0, tail));
      prefix += Math.min(left, segment.deliveredByEachRank() * segment.worldSize());
    }
    return prefix;
  }
}
