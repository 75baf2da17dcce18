// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A plan of which only cursors are known, read at any position: a chunk at a time. */
final class ForwardCursor extends PositionCursor {
  private static final int CHUNK = 8192;

  private final Cursor cursor;
  private final long[] chunk;
  private long chunkStart;
  private int chunkLength;

  ForwardCursor(Sampler plan, Cursor cursor) {
    super(plan, plan.size());
    this.cursor = cursor;
    this.chunk = new long[(int) Math.min(CHUNK, plan.size())];
  }

  @Override
  void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      long position = start + i * stride;
      if (position < chunkStart || position >= chunkStart + chunkLength) {
        cursor.seek(position);
        chunkStart = position;
        chunkLength = cursor.next(chunk, 0, chunk.length);
      }
      into[from + i] = chunk[(int) (position - chunkStart)];
    }
  }

  @Override
  boolean paddingAt(long position) {
    return cursor.isPadding(position);
  }

  @Override
  void release() {
    cursor.close();
  }
}
