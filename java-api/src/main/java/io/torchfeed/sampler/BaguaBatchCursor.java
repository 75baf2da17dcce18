// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/** One rank's pass over the batches of an epoch of Bagua's batch form. */
final class BaguaBatchCursor implements BatchCursor {
  private final Object sampler;
  private final BaguaBatches batches;
  private int position;
  private volatile boolean closed;

  /**
   * A cursor at the first batch.
   *
   * @param sampler names the cursor in messages
   */
  BaguaBatchCursor(Object sampler, BaguaBatches batches) {
    this.sampler = sampler;
    this.batches = batches;
  }

  @Override
  public int next(long[] into, int from) {
    requireOpen();
    if (position == batches.count()) {
      return 0;
    }
    int size = batches.size(position);
    Objects.checkFromIndexSize(from, size, into.length);
    batches.read(position, into, from);
    position++;
    return size;
  }

  @Override
  public long position() {
    requireOpen();
    return position;
  }

  @Override
  public void seek(long position) {
    requireOpen();
    if (position < 0 || position > batches.count()) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(batches.count(), position));
    }
    this.position = (int) position;
  }

  @Override
  public long remaining() {
    requireOpen();
    return (long) batches.count() - position;
  }

  @Override
  public boolean isPadding(long batch, int element) {
    requireOpen();
    int checked = (int) Objects.checkIndex(batch, (long) batches.count());
    return batches.isPadding(checked, Objects.checkIndex(element, batches.size(checked)));
  }

  @Override
  public void close() {
    closed = true;
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + sampler + " is closed");
    }
  }
}
