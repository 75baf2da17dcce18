// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.sampler.ResumableBatchCursor;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Asks a feed for the batches of a pass, ahead of the consumer. What fails is told when its batch
 * is due. One thread at a time.
 */
final class Requests {
  private final Feed feed;
  private final ResumableBatchCursor cursor;
  private final RequestWindow window;
  private final long[] deliveredBefore; // ascending
  private final long datasetSize;
  private final long count;
  private long samplingNanos;
  private boolean cursorIsLost;
  private @Nullable Throwable failure; // of the batch that was to be asked for next

  /**
   * Asks for nothing yet.
   *
   * @param cursor at the batch to begin with
   * @param deliveredBefore batches behind that one which are left out, ascending
   */
  Requests(
      Feed feed,
      ResumableBatchCursor cursor,
      RequestWindow window,
      long[] deliveredBefore,
      long datasetSize) {
    this.feed = feed;
    this.cursor = cursor;
    this.window = window;
    this.deliveredBefore = deliveredBefore;
    this.datasetSize = datasetSize;
    this.count = cursor.position() + cursor.remaining();
  }

  /** Asks for batches until so many are asked for and not delivered. */
  void upTo(int most) {
    skipDelivered();
    while (failure == null
        && window.next() < count
        && window.pending() < most
        && !window.isFull()) {
      try {
        askOne();
      } catch (RuntimeException | Error e) {
        failure = e;
      }
      skipDelivered();
    }
  }

  private void skipDelivered() {
    while (!window.isFull() && Arrays.binarySearch(deliveredBefore, window.next()) >= 0) {
      window.skip();
      cursorIsLost = true;
    }
  }

  private void askOne() {
    long batch = window.next();
    if (cursorIsLost) {
      cursor.seek(batch);
    }
    cursorIsLost = true; // until all has gone well
    RequestWindow.Requested request = window.blank();
    long start = System.nanoTime();
    request.size = cursor.next(request.indices, 0);
    samplingNanos += System.nanoTime() - start;
    if (request.size == 0) {
      throw new IllegalStateException(
          "the batch sampler promised %d batches but ended after %d".formatted(count, batch));
    }
    request.failure = check(request, batch);
    if (request.failure == null) {
      feed.request(batch, request.indices, request.size);
    }
    window.ask(request);
    cursorIsLost = false;
  }

  private @Nullable SampleException check(RequestWindow.Requested request, long batch) {
    for (int i = 0; i < request.size; i++) {
      long index = request.indices[i];
      if (index < 0 || index >= datasetSize) {
        return new SampleException(
            index,
            cursor.epoch(),
            batch,
            "the index is outside of the dataset, [0, " + datasetSize + ")");
      }
    }
    return null;
  }

  /** The time that the order took so far. */
  long samplingNanos() {
    return samplingNanos;
  }

  /** Whether every batch was delivered. */
  boolean isOver() {
    skipDelivered();
    return window.oldest() == count;
  }

  /** Throws what keeps the next batch from coming, if the feed does not know it. */
  void throwIfDue() {
    if (window.pending() == 0) {
      throwFailure();
      return;
    }
    RequestWindow.Requested oldest = window.first();
    if (oldest != null && oldest.failure != null) {
      SampleException wrong = oldest.failure;
      window.release(window.deliver(window.oldest()));
      throw wrong;
    }
  }

  private void throwFailure() {
    Throwable due = failure;
    failure = null; // asked again, it may come
    if (due instanceof Error error) {
      throw error;
    }
    if (due instanceof RuntimeException exception) {
      throw exception;
    }
  }

  /** The batches that were delivered, here or before, although the oldest was not, ascending. */
  long[] deliveredAhead() {
    return LongStream.concat(
            LongStream.of(window.deliveredAhead()),
            LongStream.of(deliveredBefore).filter(batch -> batch >= window.next()))
        .toArray();
  }
}
