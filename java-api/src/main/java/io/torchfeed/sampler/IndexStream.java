// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** The indices of an epoch as a stream, read from its cursor in chunks. */
final class IndexStream extends Spliterators.AbstractLongSpliterator {
  private static final int CHUNK = 1024;
  private static final long[] NONE = {};

  private final Sampler sampler;
  private final long epoch;
  private ResumableCursor.@Nullable OfIndices cursor; // checks its input
  private long[] chunk = NONE;
  private int read;
  private int next;
  private boolean ended;

  private IndexStream(Sampler sampler, long epoch) {
    super(sampler.size(), Spliterator.ORDERED | Spliterator.SIZED | Spliterator.NONNULL);
    this.sampler = sampler;
    this.epoch = epoch;
  }

  static LongStream of(Sampler sampler, long epoch) {
    IndexStream stream = new IndexStream(sampler, epoch);
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
    ResumableCursor.OfIndices source = cursor;
    if (source == null) {
      source = ResumableCursor.open(sampler, epoch);
      cursor = source;
      chunk = new long[(int) Math.min(CHUNK, Math.max(1, sampler.size()))];
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
    ResumableCursor.OfIndices open = cursor;
    if (open != null) {
      open.close();
    }
  }
}
