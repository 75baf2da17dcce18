// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/**
 * A cursor over an order in which any position can be computed or looked up. What remains for a
 * subclass is to say which index stands where.
 */
abstract class PositionCursor implements Cursor {
  private final Object plan;
  private final long size;
  private long position;
  private volatile boolean closed;

  /**
   * A cursor at position 0.
   *
   * @param plan names the cursor in messages
   * @param size number of positions
   */
  PositionCursor(Object plan, long size) {
    this.plan = plan;
    this.size = size;
  }

  /** A cursor of any plan, read at any position. The caller closes it. */
  static PositionCursor over(Sampler plan, long epoch) {
    Cursor cursor = plan.epoch(epoch);
    return cursor instanceof PositionCursor direct ? direct : new ForwardCursor(plan, cursor);
  }

  /**
   * Writes the indices at the positions {@code start}, {@code start + stride}, …
   *
   * @param count how many, at least 1; all positions are inside of the epoch and all elements
   *     inside of {@code into}
   */
  abstract void read(long start, long stride, long[] into, int from, int count);

  /** {@link #isPadding} of a position that was checked. */
  boolean paddingAt(long checkedPosition) {
    return false;
  }

  /** Closes what the cursor reads from; may come more than once, from any thread. */
  void release() {}

  @Override
  public final int next(long[] into, int from, int count) {
    Objects.checkFromIndexSize(from, count, into.length);
    if (count < 1) {
      throw new IllegalArgumentException("count must be at least 1, got " + count);
    }
    requireOpen();
    int read = (int) Math.min(count, size - position);
    if (read > 0) {
      read(position, 1, into, from, read);
      position += read;
    }
    return read;
  }

  @Override
  public final long position() {
    requireOpen();
    return position;
  }

  @Override
  public final void seek(long position) {
    requireOpen();
    if (position < 0 || position > size) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(size, position));
    }
    this.position = position;
  }

  @Override
  public final long remaining() {
    requireOpen();
    return size - position;
  }

  @Override
  public final boolean isPadding(long position) {
    requireOpen();
    return paddingAt(Objects.checkIndex(position, size));
  }

  @Override
  public final void close() {
    closed = true;
    release();
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + plan + " is closed");
    }
  }
}
