// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PositionCursor;
import org.jspecify.annotations.Nullable;

/**
 * The order of a plan over all its epochs: position x is position (x modulo size) of epoch (x
 * divided by size). Holds a cursor of one epoch at a time, opened when it is first read.
 *
 * <p>One thread reads; any thread may close.
 */
final class SourceCursor implements AutoCloseable {
  private final Sampler plan;
  private final long size;
  private long openEpoch = -1;
  private @Nullable PositionCursor cursor;
  private boolean closed;

  SourceCursor(Sampler plan) {
    this.plan = plan;
    this.size = plan.size();
  }

  /** Writes the indices at {@code start}, {@code start + stride}, … of epoch {@code firstEpoch}. */
  void read(long firstEpoch, long start, long stride, long[] into, int from, int count) {
    int done = 0;
    while (done < count) {
      long at = start + done * stride;
      long inEpoch = at % size;
      int read = (int) Math.min((size - 1 - inEpoch) / stride + 1, count - done);
      in(firstEpoch + at / size).read(inEpoch, stride, into, from + done, read);
      done += read;
    }
  }

  /** Returns whether the index at a position, counted from the start of an epoch, is padding. */
  boolean paddingAt(long firstEpoch, long position) {
    return in(firstEpoch + position / size).paddingAt(position % size);
  }

  private synchronized PositionCursor in(long epoch) {
    if (closed) {
      throw new IllegalStateException("the cursor of " + plan + " is closed");
    }
    PositionCursor open = cursor;
    if (open == null || openEpoch != epoch) {
      if (open != null) {
        open.close();
      }
      open = PositionCursor.over(plan, epoch);
      cursor = open;
      openEpoch = epoch;
    }
    return open;
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (cursor != null) {
      cursor.close();
    }
  }
}
