// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import java.util.function.LongUnaryOperator;

/** A cursor over an order that is given as a function from position to index. */
public final class ComputedCursor extends PositionCursor {
  private final LongUnaryOperator indexAt;

  public ComputedCursor(Object plan, long size, LongUnaryOperator indexAt) {
    super(plan, size);
    this.indexAt = indexAt;
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    long position = start;
    for (int i = from; i < from + count; i++) {
      into[i] = indexAt.applyAsLong(position);
      position += stride;
    }
  }
}
