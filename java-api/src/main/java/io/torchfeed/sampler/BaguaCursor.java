// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A cursor over one sample of each chunk; chunks wrap at the end of the sorted list. */
final class BaguaCursor extends PositionCursor {
  private final int[] sorted;
  private final int[] order;
  private final int worldSize;
  private final int rank;
  private final int delivered;

  /**
   * A cursor.
   *
   * @param plan names the cursor in messages
   * @param order the chunks in the order in which they come
   * @param delivered how many chunks were delivered before
   */
  BaguaCursor(Object plan, BaguaChunks chunks, int[] order, int rank, int delivered) {
    super(plan, order.length - delivered);
    this.order = order;
    this.rank = rank;
    this.delivered = delivered;
    sorted = chunks.sorted();
    worldSize = chunks.worldSize();
  }

  @Override
  void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      into[from + i] = sorted[(int) (place(start + i * stride) % sorted.length)];
    }
  }

  @Override
  boolean paddingAt(long position) {
    return place(position) >= sorted.length;
  }

  /** The place in the sorted list, past its end for padding. */
  long place(long position) {
    return (long) order[delivered + (int) position] * worldSize + rank;
  }
}
