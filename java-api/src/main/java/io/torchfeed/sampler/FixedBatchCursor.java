// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/** A cursor in batches of one size over a cursor, which it owns and whose position is its own. */
final class FixedBatchCursor implements BatchCursor {
  private final Cursor cursor;
  private final Batching batching;

  FixedBatchCursor(Cursor cursor, Batching batching) {
    this.cursor = cursor;
    this.batching = batching;
  }

  @Override
  public int next(long[] into, int from) {
    long batch = position();
    if (batch == batching.count()) {
      Objects.checkFromIndexSize(from, 0, into.length);
      return 0;
    }
    int size = batching.size(batch);
    Objects.checkFromIndexSize(from, size, into.length);
    int read = cursor.next(into, from, size);
    if (read != size) {
      throw new IllegalStateException(
          "the sampler promised %d indices but ended after %d"
              .formatted(batching.samples(), batching.start(batch) + read));
    }
    return read;
  }

  @Override
  public long position() {
    long position = cursor.position();
    long full = position / batching.batchSize();
    return position % batching.batchSize() == 0 ? full : full + 1;
  }

  @Override
  public void seek(long position) {
    long count = batching.count();
    if (position < 0 || position > count) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(count, position));
    }
    cursor.seek(position == count ? end() : batching.start(position));
  }

  /** The position of the cursor behind the last batch. */
  private long end() {
    long count = batching.count();
    return count == 0 ? 0 : batching.start(count - 1) + batching.size(count - 1);
  }

  @Override
  public long remaining() {
    return batching.count() - position();
  }

  @Override
  public boolean isPadding(long batch, int element) {
    return cursor.isPadding(
        batching.start(batch) + Objects.checkIndex(element, batching.size(batch)));
  }

  @Override
  public void close() {
    cursor.close();
  }
}
