// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A cursor over an order that is held as a list. */
final class ListCursor extends PositionCursor {
  private final IndexList order;

  ListCursor(Object plan, IndexList order) {
    super(plan, order.length());
    this.order = order;
  }

  @Override
  void read(long start, long stride, long[] into, int from, int count) {
    order.read(start, stride, into, from, count);
  }
}
