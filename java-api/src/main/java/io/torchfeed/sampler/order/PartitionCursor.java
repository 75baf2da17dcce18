// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PositionCursor;
import io.torchfeed.sampler.cursor.Segments;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/** A cursor over the positions of an order that belong to one rank. */
final class PartitionCursor extends PositionCursor {
  private final PositionCursor order;
  private final LongUnaryOperator part;
  private final long own;
  private final long skipped;
  private final long longest;

  private PartitionCursor(Sampler plan, PositionCursor order, IndexPartition division, long skip) {
    super(plan, Math.max(0, division.size(plan.part().rank()) - skip));
    int rank = plan.part().rank();
    this.order = order;
    this.part = division.part(rank);
    this.own = division.own(rank);
    this.skipped = skip;
    this.longest = Math.max(0, division.longest() - skip);
  }

  /**
   * Opens one rank's part of the positions that the segments left. While the world size stays the
   * same, the division it began with is kept.
   *
   * @param all the positions of the order
   * @param first divides these
   * @param next divides the rest of them
   * @param chain segments as returned by {@link EpochSegment#joined}
   */
  static Cursor open(
      Sampler plan,
      Supplier<PositionCursor> order,
      IndexRanges all,
      IndexPartition.Rule first,
      IndexPartition.Rule next,
      List<EpochSegment> chain) {
    IndexRanges left = all;
    IndexPartition.Rule rule = first;
    long skip = 0;
    for (int i = 0; i < chain.size(); i++) {
      EpochSegment segment = chain.get(i);
      IndexPartition division = rule.divide(left, segment.worldSize());
      Segments.requireAtMost(segment, division.longest());
      if (i == chain.size() - 1 && segment.worldSize() == plan.part().worldSize()) {
        skip = segment.deliveredByEachRank();
      } else {
        left = division.rest(segment.deliveredByEachRank());
        rule = next;
      }
    }
    return new PartitionCursor(plan, order.get(), rule.divide(left, plan.part().worldSize()), skip);
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
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

  /** Returns the position in the order. */
  private long position(long ownPosition) {
    return part.applyAsLong(skipped + ownPosition);
  }

  @Override
  public boolean paddingAt(long position) {
    long place = skipped + position;
    return place >= own || order.paddingAt(part.applyAsLong(place));
  }

  @Override
  public long longest() {
    return longest;
  }

  @Override
  public void release() {
    order.close();
  }
}
