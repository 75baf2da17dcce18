// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/** A cursor over the positions of an order that a dealing gave to one rank. */
final class DealtCursor extends PositionCursor {
  private final PositionCursor order;
  private final LongUnaryOperator part;
  private final long own;
  private final long skipped;

  private DealtCursor(DistributedSampler plan, PositionCursor order, Dealing dealing, long skip) {
    super(plan, Math.max(0, dealing.size(plan.rank()) - skip));
    this.order = order;
    this.part = dealing.part(plan.rank());
    this.own = dealing.own(plan.rank());
    this.skipped = skip;
  }

  /**
   * Opens one rank's part of what the segments left of an order. A number of ranks that goes on
   * without change keeps the dealing it began with.
   *
   * @param all the positions of the order
   * @param first deals these
   * @param next deals what is left of them
   * @param chain segments as {@link #joined} gives them
   */
  static Cursor open(
      DistributedSampler plan,
      Supplier<PositionCursor> order,
      Pieces all,
      Dealing.Rule first,
      Dealing.Rule next,
      List<Segment> chain) {
    Pieces left = all;
    Dealing.Rule rule = first;
    long skip = 0;
    for (int i = 0; i < chain.size(); i++) {
      Segment segment = chain.get(i);
      Dealing dealing = rule.deal(left, segment.worldSize());
      segment.requireAtMost(dealing.longest());
      if (i == chain.size() - 1 && segment.worldSize() == plan.worldSize()) {
        skip = segment.deliveredByEachRank();
      } else {
        left = dealing.rest(segment.deliveredByEachRank());
        rule = next;
      }
    }
    return new DealtCursor(plan, order.get(), rule.deal(left, plan.worldSize()), skip);
  }

  /** The segments that delivered something, neighbours of equal world size as one. */
  static List<Segment> joined(List<Segment> segments) {
    List<Segment> joined = new ArrayList<>();
    for (Segment segment : segments) {
      int last = joined.size() - 1;
      if (last >= 0 && joined.get(last).worldSize() == segment.worldSize()) {
        long sum =
            Math.addExact(joined.get(last).deliveredByEachRank(), segment.deliveredByEachRank());
        joined.set(last, new Segment(segment.worldSize(), sum));
      } else if (segment.deliveredByEachRank() > 0) {
        joined.add(segment);
      }
    }
    return joined;
  }

  @Override
  void read(long start, long stride, long[] into, int from, int count) {
    int done = 0;
    while (done < count) {
      long position = position(start + done * stride);
      int run = 1;
      while (done + run < count && position(start + (done + run) * stride) == position + run) {
        run++;
      }
      order.read(position, 1, into, from + done, run);
      done += run;
    }
  }

  /** The position in the order. */
  private long position(long ownPosition) {
    return part.applyAsLong(skipped + ownPosition);
  }

  @Override
  boolean paddingAt(long position) {
    long place = skipped + position;
    return place >= own || order.paddingAt(part.applyAsLong(place));
  }

  @Override
  void release() {
    order.close();
  }
}
