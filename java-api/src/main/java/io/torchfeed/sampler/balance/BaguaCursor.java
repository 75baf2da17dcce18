// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.sampler.cursor.PositionCursor;

/** A cursor over one sample of each chunk; chunks wrap around at the end of the sorted list. */
final class BaguaCursor extends PositionCursor {
  private final int[] sorted;
  private final int[] order;
  private final int worldSize;
  private final int rank;

  /**
   * Creates a cursor.
   *
   * @param plan names the cursor in exception messages
   * @param order the chunk numbers in delivery order
   */
  BaguaCursor(Object plan, BaguaChunks chunks, int[] order, int rank) {
    super(plan, order.length);
    this.order = order;
    this.rank = rank;
    sorted = chunks.sorted();
    worldSize = chunks.worldSize();
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      into[from + i] = sorted[(int) (place(start + i * stride) % sorted.length)];
    }
  }

  @Override
  public boolean paddingAt(long position) {
    return place(position) >= sorted.length;
  }

  /** Returns the place in the sorted list; past its end for padding. */
  long place(long position) {
    return (long) order[(int) position] * worldSize + rank;
  }
}
