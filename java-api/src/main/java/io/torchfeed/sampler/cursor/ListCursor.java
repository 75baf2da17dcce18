// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.internal.IndexList;

/** A cursor over an order held as a list. */
public final class ListCursor extends PositionCursor {
  private final IndexList order;

  public ListCursor(Object plan, IndexList order) {
    super(plan, order.length());
    this.order = order;
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    order.read(start, stride, into, from, count);
  }
}
