// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A cursor in batches of one size over a cursor, which it owns. */
final class FixedBatchCursor extends NumberedBatchCursor {
  private static final long UNKNOWN = -1;

  private final Cursor cursor;
  private final long origin;
  private final Batching batching;
  private long cursorAt; // known here, since asking a native cursor is a call into C++

  /**
   * Takes a cursor at the start of a batch, and begins there.
   *
   * @param origin the cursor's position at which the first batch begins
   */
  FixedBatchCursor(Object plan, Cursor cursor, long origin, Batching batching) {
    super(plan, batching.count());
    this.cursor = cursor;
    this.origin = origin;
    this.batching = batching;
    cursorAt = cursor.position();
    // past the last batch where that is short and dropped
    seek(Math.min(batching.count(), (cursorAt - origin) / batching.batchSize()));
  }

  @Override
  public long delivered(long position) {
    return origin + Math.min(position * batching.batchSize(), batching.samples());
  }

  @Override
  int size(long batch) {
    return batching.size(batch);
  }

  @Override
  void read(long batch, long[] into, int from) {
    long start = origin + batching.start(batch);
    if (cursorAt != start) {
      cursor.seek(start);
    }
    cursorAt = UNKNOWN; // it may have moved before it fails
    int size = batching.size(batch);
    int read = cursor.next(into, from, size);
    if (read != size) {
      throw new IllegalStateException(
          "the sampler promised %d indices but ended after %d"
              .formatted(origin + batching.samples(), start + read));
    }
    cursorAt = start + size;
  }

  @Override
  boolean paddingAt(long batch, int element) {
    return cursor.isPadding(origin + batching.start(batch) + element);
  }

  @Override
  void release() {
    cursor.close();
  }
}
