// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;

/**
 * A cursor that reads any plan at any position, through a cursor of the plan, a chunk at a time.
 */
final class ForwardCursor extends PositionCursor {
  private static final int CHUNK = 8192;

  private final Sampler plan;
  private final Cursor cursor;
  private final long[] chunk;
  private long chunkStart;
  private int chunkLength;

  ForwardCursor(Sampler plan, Cursor cursor) {
    super(plan, plan.size());
    this.plan = plan;
    this.cursor = cursor;
    this.chunk = new long[(int) Math.min(CHUNK, plan.size())];
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      long position = start + i * stride;
      if (position < chunkStart || position >= chunkStart + chunkLength) {
        cursor.seek(position);
        chunkStart = position;
        chunkLength = cursor.next(chunk, 0, chunk.length);
        if (chunkLength < 1 || chunkLength > chunk.length) {
          int read = chunkLength;
          chunkLength = 0;
          throw new IllegalStateException(
              "a cursor of %s must write 1 to %d indices, got %d at position %d of %d"
                  .formatted(plan, chunk.length, read, position, plan.size()));
        }
      }
      into[from + i] = chunk[(int) (position - chunkStart)];
    }
  }

  @Override
  public boolean paddingAt(long position) {
    return cursor.isPadding(position);
  }

  @Override
  public void release() {
    cursor.close();
  }
}
