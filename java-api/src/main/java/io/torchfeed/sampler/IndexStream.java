// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** The indices of an epoch as a stream, read from its cursor in chunks. */
final class IndexStream extends Spliterators.AbstractLongSpliterator {
  private static final int CHUNK = 1024;
  private static final long[] NONE = {};

  private final Supplier<? extends Cursor> opener;
  private final int size; // of a chunk
  private @Nullable Cursor cursor;
  private long[] chunk = NONE;
  private int read;
  private int next;
  private boolean ended;

  private IndexStream(long size, Supplier<? extends Cursor> opener) {
    super(size, Spliterator.ORDERED | Spliterator.SIZED | Spliterator.NONNULL);
    this.opener = opener;
    this.size = (int) Math.min(CHUNK, Math.max(1, size));
  }

  /**
   * Returns the indices of a cursor.
   *
   * @param size their number
   * @param opener opens a cursor that checks its input
   */
  static LongStream of(long size, Supplier<? extends Cursor> opener) {
    IndexStream stream = new IndexStream(size, opener);
    return StreamSupport.longStream(stream, false).onClose(stream::end);
  }

  @Override
  public boolean tryAdvance(LongConsumer action) {
    if (next == read && !readChunk()) {
      return false;
    }
    action.accept(chunk[next++]);
    return true;
  }

  private boolean readChunk() {
    if (ended) {
      return false;
    }
    Cursor source = cursor;
    if (source == null) {
      source = opener.get();
      cursor = source;
      chunk = new long[size];
    }
    next = 0;
    read = source.next(chunk, 0, chunk.length);
    if (read == 0) {
      end();
    }
    return read > 0;
  }

  private void end() {
    ended = true;
    Cursor open = cursor;
    if (open != null) {
      open.close();
    }
  }
}
