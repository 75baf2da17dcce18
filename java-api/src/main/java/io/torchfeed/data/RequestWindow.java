// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Which batches of a pass were asked for, and which of those were delivered. Between the oldest one
 * that was not delivered and the newest one that was asked for lie at most so many that all of them
 * can be told. Index lists are reused. One thread at a time.
 */
final class RequestWindow {
  /** What is known of a batch until it ends. */
  static final class Requested {
    final long[] indices;
    int size;
    @Nullable SampleException failure;

    private Requested(int largestBatch) {
      indices = new long[largestBatch];
    }
  }

  private final int largestBatch;
  private final Requested[] window; // by number; null: delivered, or not asked for
  private final Deque<Requested> spare = new ArrayDeque<>();
  private long oldest;
  private long next;
  private int pending;

  /**
   * A window in which nothing was asked for.
   *
   * @param first the number of the batch to begin with
   * @param longest most batches between the oldest and the newest
   * @param largestBatch most indices of a batch
   */
  RequestWindow(long first, int longest, int largestBatch) {
    this.largestBatch = largestBatch;
    this.window = new Requested[longest];
    this.oldest = first;
    this.next = first;
  }

  /** The number of the first batch that was not delivered. */
  long oldest() {
    return oldest;
  }

  /** The number of the first batch that was not asked for. */
  long next() {
    return next;
  }

  /** How many batches were asked for and not delivered. */
  int pending() {
    return pending;
  }

  /** Whether another batch would make the window too long. */
  boolean isFull() {
    return next - oldest == window.length;
  }

  /** A request for the indices of a batch; {@link #ask} or {@link #release} takes it back. */
  Requested blank() {
    Requested blank = spare.poll();
    return blank == null ? new Requested(largestBatch) : blank;
  }

  /** Notes that the next batch was asked for. */
  void ask(Requested request) {
    window[slot(next++)] = request;
    pending++;
  }

  /** Notes that the next batch was delivered before. */
  void skip() {
    next++;
    advance();
  }

  /** What is known of the oldest batch, if one was asked for. */
  @Nullable Requested first() {
    return window[slot(oldest)];
  }

  /** Notes that a batch was delivered; what is known of it is the caller's until released. */
  Requested deliver(long batch) {
    int slot = slot(batch);
    Requested delivered = window[slot];
    if (delivered == null) {
      throw new IllegalStateException("batch " + batch + " came without being asked for");
    }
    window[slot] = null;
    pending--;
    advance();
    return delivered;
  }

  /** Takes back what is known of a batch that has ended. */
  void release(Requested request) {
    request.failure = null;
    spare.push(request);
  }

  private void advance() {
    while (oldest < next && window[slot(oldest)] == null) {
      oldest++;
    }
  }

  private int slot(long batch) {
    return (int) (batch % window.length);
  }

  /** The batches that were delivered although the oldest was not, ascending. */
  long[] deliveredAhead() {
    return LongStream.range(oldest, next).filter(batch -> window[slot(batch)] == null).toArray();
  }
}
