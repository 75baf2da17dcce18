// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;

/**
 * A cursor over an order in which the index at any position can be computed or looked up.
 * Subclasses supply that index.
 */
public abstract class PositionCursor implements Cursor, PartOfOrder {
  private final Object plan;
  private final long size;
  private long position;
  private volatile boolean closed;

  /**
   * Creates a cursor at position 0.
   *
   * @param plan identifies the cursor in messages
   * @param size number of positions
   */
  protected PositionCursor(Object plan, long size) {
    this.plan = plan;
    this.size = size;
  }

  /** Opens a cursor over any plan that reads any position. The caller closes it. */
  public static PositionCursor over(Sampler plan, long epoch) {
    Cursor cursor = Continuation.requireCursor(plan.epoch(epoch), plan);
    return cursor instanceof PositionCursor direct ? direct : new ForwardCursor(plan, cursor);
  }

  /**
   * Writes the indices at the positions {@code start}, {@code start + stride}, …
   *
   * @param count number of indices, at least 1; all positions are within the epoch and all elements
   *     within {@code into}
   */
  public abstract void read(long start, long stride, long[] into, int from, int count);

  /** Returns {@link #isPadding} of a position that has been checked. */
  public boolean paddingAt(long checkedPosition) {
    return false;
  }

  /**
   * Returns the number of positions of the rank that has most, where ranks differ; by default the
   * number of this cursor.
   */
  public long longest() {
    return size;
  }

  @Override
  public final boolean endsBeforeOthers() {
    return size < longest();
  }

  /** Closes the source of the cursor; may be called more than once, from any thread. */
  public void release() {}

  @Override
  public final int next(long[] into, int from, int count) {
    Checks.requireRoom(into, from, count);
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
    return paddingAt(Checks.requireIndex("position", position, size));
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
