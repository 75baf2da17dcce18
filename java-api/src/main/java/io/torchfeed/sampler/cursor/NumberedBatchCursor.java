// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.BatchCursor;

/**
 * A cursor over batches, any of which can be computed or looked up by its number. Subclasses supply
 * the contents of each batch.
 */
public abstract class NumberedBatchCursor implements BatchCursor, PartOfOrder {
  private final Object plan;
  private final long batches;
  private long position;
  private volatile boolean closed;

  /**
   * Creates a cursor at the first batch.
   *
   * @param plan identifies the cursor in messages
   */
  protected NumberedBatchCursor(Object plan, long batches) {
    this.plan = plan;
    this.batches = batches;
  }

  /** Returns the number of indices in an existing batch. */
  public abstract int size(long batch);

  /** Writes the indices of a batch into {@code into}, which has room. */
  public abstract void read(long batch, long[] into, int from);

  /** Returns {@link #isPadding} of an existing index. */
  public abstract boolean paddingAt(long batch, int element);

  /** Returns {@link #delivered} of a position that has been checked. */
  public long deliveredBefore(long position) {
    return position;
  }

  @Override
  public boolean endsBeforeOthers() {
    return false;
  }

  /** Closes the source of the cursor; may be called more than once, from any thread. */
  public void release() {}

  @Override
  public final int next(long[] into, int from) {
    requireOpen();
    int size = position == batches ? 0 : size(position);
    Checks.requireRoom(into, from, size);
    if (size > 0) {
      read(position, into, from);
      position++;
    }
    return size;
  }

  @Override
  public final long position() {
    requireOpen();
    return position;
  }

  @Override
  public final void seek(long position) {
    requireOpen();
    Checks.requirePosition(position, batches);
    this.position = position;
  }

  @Override
  public final long delivered(long position) {
    requireOpen();
    Checks.requirePosition(position, batches);
    return deliveredBefore(position);
  }

  @Override
  public final long remaining() {
    requireOpen();
    return batches - position;
  }

  @Override
  public final boolean isPadding(long batch, int element) {
    requireOpen();
    long checked = Checks.requireIndex("batch", batch, batches);
    return paddingAt(checked, Checks.requireIndex("element", element, size(checked)));
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
