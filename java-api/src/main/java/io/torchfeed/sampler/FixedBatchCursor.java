// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A cursor in batches of one size over a cursor, which it owns. */
final class FixedBatchCursor extends NumberedBatchCursor {
  private static final long UNKNOWN = -1;

  private final Cursor cursor;
  private final Batching batching;
  private long cursorAt; // known here, since asking a native cursor is a call into C++

  /** Takes a cursor at its start. */
  FixedBatchCursor(Object plan, Cursor cursor, Batching batching) {
    super(plan, batching.count());
    this.cursor = cursor;
    this.batching = batching;
  }

  @Override
  int size(long batch) {
    return batching.size(batch);
  }

  @Override
  void read(long batch, long[] into, int from) {
    long start = batching.start(batch);
    if (cursorAt != start) {
      cursor.seek(start);
    }
    cursorAt = UNKNOWN; // it may have moved before it fails
    int size = batching.size(batch);
    int read = cursor.next(into, from, size);
    if (read != size) {
      throw new IllegalStateException(
          "the sampler promised %d indices but ended after %d"
              .formatted(batching.samples(), start + read));
    }
    cursorAt = start + size;
  }

  @Override
  boolean paddingAt(long batch, int element) {
    return cursor.isPadding(batching.start(batch) + element);
  }

  @Override
  void release() {
    cursor.close();
  }
}
