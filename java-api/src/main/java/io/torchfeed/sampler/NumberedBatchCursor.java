// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/**
 * A cursor over batches of which any can be computed or looked up. What remains for a subclass is
 * to say what is in one.
 */
abstract class NumberedBatchCursor implements BatchCursor {
  private final Object plan;
  private final long batches;
  private long position;
  private volatile boolean closed;

  /**
   * A cursor at the first batch.
   *
   * @param plan names the cursor in messages
   */
  NumberedBatchCursor(Object plan, long batches) {
    this.plan = plan;
    this.batches = batches;
  }

  /** The number of indices of a batch that exists. */
  abstract int size(long batch);

  /** Writes the indices of a batch; they fit. */
  abstract void read(long batch, long[] into, int from);

  /** {@link #isPadding} of an index that exists. */
  abstract boolean paddingAt(long batch, int element);

  /** Closes what the cursor reads from; may come more than once, from any thread. */
  void release() {}

  @Override
  public final int next(long[] into, int from) {
    requireOpen();
    int size = position == batches ? 0 : size(position);
    Objects.checkFromIndexSize(from, size, into.length);
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
    if (position < 0 || position > batches) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(batches, position));
    }
    this.position = position;
  }

  @Override
  public final long remaining() {
    requireOpen();
    return batches - position;
  }

  @Override
  public final boolean isPadding(long batch, int element) {
    requireOpen();
    long checked = Objects.checkIndex(batch, batches);
    return paddingAt(checked, Objects.checkIndex(element, size(checked)));
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
