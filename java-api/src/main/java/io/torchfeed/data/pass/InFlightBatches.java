// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.task.IndexRequest;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The batches of a pass between the oldest one not delivered and the newest one requested, and
 * whether each is requested or delivered. Their number is bounded. Index lists are reused. Only
 * {@link #blank} and {@link #deliveredAhead} allocate. Used by one thread at a time.
 */
final class InFlightBatches {
  private final int maxBatchSize;
  private final IndexRequest[] window; // by batch number; null if delivered or not requested
  private final IndexRequest[] spare;
  private int spares;
  private long oldest;
  private long next;
  private int pending;

  /**
   * Creates a window without requested batches.
   *
   * @param first the number of the first batch
   * @param capacity the maximum number of batches from the oldest to the newest
   * @param maxBatchSize the maximum number of indices per batch
   */
  InFlightBatches(long first, int capacity, int maxBatchSize) {
    this.maxBatchSize = maxBatchSize;
    this.window = new IndexRequest[capacity];
    this.spare = new IndexRequest[capacity + 1]; // and the batch that the consumer holds
    this.oldest = first;
    this.next = first;
  }

  /** Returns the number of the first batch that is not delivered. */
  long oldest() {
    return oldest;
  }

  /** Returns the number of the first batch that is not requested. */
  long next() {
    return next;
  }

  /** Returns the number of batches that are requested and not delivered. */
  int pending() {
    return pending;
  }

  /** Returns whether no batch can be requested before the oldest is delivered. */
  boolean isFull() {
    return next - oldest == window.length;
  }

  /** Returns a blank index list; {@link #add} or {@link #release} takes it back. */
  IndexRequest blank() {
    return spares == 0 ? new IndexRequest(maxBatchSize) : spare[--spares];
  }

  /** Notes that the next batch is requested. */
  void add(IndexRequest request) {
    window[slot(next++)] = request;
    pending++;
  }

  /** Notes that the next batch was delivered by an earlier pass. */
  void skip() {
    next++;
    advance();
  }

  /** Returns the request of the oldest batch; null if there is none. */
  @Nullable IndexRequest first() {
    return window[slot(oldest)];
  }

  /** Returns the request of a batch that is not delivered. */
  IndexRequest requested(long batch) {
    IndexRequest requested = window[slot(batch)];
    if (requested == null) {
      throw new IllegalStateException("batch " + batch + " arrived without being requested");
    }
    return requested;
  }

  /** Notes that a batch is delivered; the caller owns its request until it is released. */
  IndexRequest deliver(long batch) {
    IndexRequest delivered = requested(batch);
    window[slot(batch)] = null;
    pending--;
    advance();
    return delivered;
  }

  /** Takes back the request of a batch that has ended. */
  void release(IndexRequest request) {
    request.failure = null;
    if (spares < spare.length) { // several threads may hold batches
      spare[spares++] = request;
    }
  }

  private void advance() {
    while (oldest < next && window[slot(oldest)] == null) {
      oldest++;
    }
  }

  private int slot(long batch) {
    return (int) (batch % window.length);
  }

  /** Returns the batches that are delivered although the oldest is not, ascending. */
  long[] deliveredAhead() {
    return LongStream.range(oldest, next).filter(batch -> window[slot(batch)] == null).toArray();
  }
}
