// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.cursor.NumberedBatchCursor;
import io.torchfeed.sampler.cursor.PositionCursor;

/** A cursor that reads another cursor, which it owns, in batches of a fixed size. */
final class FixedSizeBatchCursor extends NumberedBatchCursor {
  private static final long UNKNOWN = -1;

  private final Cursor cursor;
  private final long origin;
  private final Batching batching;
  private final long longest; // positions of the longest rank
  private final long deliveredByLongest; // at the end of this cursor, or 0
  private long cursorAt; // kept here, since querying a native cursor is a call into C++

  /**
   * Takes ownership of a cursor at the start of a batch, and begins there.
   *
   * @param origin the cursor's position at which the first batch begins
   * @param delivered the progress of the longest rank
   */
  FixedSizeBatchCursor(Object plan, Cursor cursor, long origin, Batching batching, long delivered) {
    super(plan, batching.count());
    this.longest =
        cursor instanceof PositionCursor part ? part.longest() : origin + batching.samples();
    this.deliveredByLongest = delivered > cursor.position() ? delivered : 0;
    this.cursor = cursor;
    this.origin = origin;
    this.batching = batching;
    cursorAt = cursor.position();
    // the cursor may be past the last batch if that one is short and dropped
    seek(Math.min(batching.count(), (cursorAt - origin) / batching.batchSize()));
  }

  @Override
  public long deliveredBefore(long position) {
    long delivered = Math.min(origin + position * batching.batchSize(), longest);
    return position == batching.count() ? Math.max(delivered, deliveredByLongest) : delivered;
  }

  @Override
  public boolean endsBeforeOthers() {
    long left = longest - deliveredBefore(batching.count());
    return batching.of(Math.max(0, left)).count() > 0;
  }

  @Override
  public int size(long batch) {
    return batching.size(batch);
  }

  @Override
  public void read(long batch, long[] into, int from) {
    long start = origin + batching.start(batch);
    if (cursorAt != start) {
      cursor.seek(start);
    }
    cursorAt = UNKNOWN; // the cursor may move before it fails
    int size = batching.size(batch);
    int read = cursor.next(into, from, size);
    if (read < 0 || read > size) {
      throw new IllegalStateException(
          "the sampler must write %d indices at position %d, got %d".formatted(size, start, read));
    }
    if (read < size) {
      throw new IllegalStateException(
          "the sampler promised %d indices but ended after %d"
              .formatted(origin + batching.samples(), start + read));
    }
    cursorAt = start + size;
  }

  @Override
  public boolean paddingAt(long batch, int element) {
    return cursor.isPadding(origin + batching.start(batch) + element);
  }

  @Override
  public void release() {
    cursor.close();
  }
}
