// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.Sampler;

/**
 * A cursor over every {@code worldSize}-th position of an order, from a first position on; past the
 * end of the order it continues from the start, as padding.
 */
final class StridedCursor extends PositionCursor {
  private final PositionCursor order;
  private final long orderSize;
  private final long first;
  private final long worldSize;
  private final long longest;

  /**
   * Creates a cursor that owns the cursor of the order.
   *
   * @param first the position in the order of this cursor's position 0
   */
  StridedCursor(
      Sampler plan,
      PositionCursor order,
      long orderSize,
      long first,
      long worldSize,
      long size,
      long longest) {
    super(plan, size);
    this.longest = longest;
    this.order = order;
    this.orderSize = orderSize;
    this.first = first;
    this.worldSize = worldSize;
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    long step = stride * worldSize;
    int done = 0;
    while (done < count) {
      long at = first + (start + done * stride) * worldSize;
      long inOrder = at % orderSize;
      long fitting = (orderSize - 1 - inOrder) / step + 1;
      int read = (int) Math.min(fitting, count - done);
      order.read(inOrder, step, into, from + done, read);
      done += read;
    }
  }

  @Override
  public boolean paddingAt(long position) {
    long at = first + position * worldSize;
    return at >= orderSize || order.paddingAt(at);
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
