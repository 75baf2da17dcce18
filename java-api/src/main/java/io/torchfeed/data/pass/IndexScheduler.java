// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.SamplerState;
import java.util.Arrays;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** A scheduler of the batches of a batch sampler. A failure is reported when its batch is next. */
final class IndexScheduler implements PrefetchScheduler {
  /**
   * The distance that batches may be ahead of a late one if they are delivered as they become
   * ready: this many times the maximum in flight, and at least {@link #MIN_OVERTAKING}.
   */
  private static final int OVERTAKING = 8;

  private static final int MIN_OVERTAKING = 64;

  /**
   * The number of consecutive failures at one batch after which the sampler is not called again.
   */
  private static final int MAX_FAILURES = 2;

  private final BatchEngine engine;
  private final Supplier<ResumableCursor.OfBatches> opener;
  private final long datasetSize;
  private final long first;
  private final long count;
  private final long epoch;
  private final boolean isInOrder;
  private final long[] deliveredBefore; // ascending

  // Guarded by this.
  private ResumableCursor.@Nullable OfBatches cursor; // closed when it is not needed
  private boolean closed;
  private final InFlightBatches window;
  private long samplingNanos;
  private boolean cursorIsLost;
  private @Nullable Throwable failure; // at the next batch to request
  private long failedAt = -1;
  private int failures; // consecutive, at that batch

  /**
   * Takes ownership of the cursor of the order, positioned at the first batch.
   *
   * @param opener opens another cursor of the same batches, for states and padding when the pass
   *     needs no more indices
   * @param deliveredBefore the batches after the first one to leave out, ascending
   * @param maxInFlight the maximum number of batches in flight
   */
  IndexScheduler(
      BatchEngine engine,
      ResumableCursor.OfBatches cursor,
      Supplier<ResumableCursor.OfBatches> opener,
      long[] deliveredBefore,
      IndexSource source,
      int maxInFlight) {
    this.engine = engine;
    this.cursor = cursor;
    this.opener = opener;
    this.deliveredBefore = deliveredBefore;
    this.datasetSize = source.datasetSize();
    this.epoch = cursor.epoch();
    this.first = cursor.position();
    this.isInOrder = source.inOrder() && deliveredBefore.length == 0;
    this.count = first + cursor.remaining();
    this.window =
        new InFlightBatches(
            first,
            source.inOrder() ? maxInFlight : Math.max(MIN_OVERTAKING, OVERTAKING * maxInFlight),
            source.maxBatchSize());
  }

  @Override
  public synchronized void requestUpTo(int inFlight) {
    skipDelivered();
    while (failure == null
        && !hasGivenUp()
        && window.next() < count
        && window.pending() < inFlight
        && !window.isFull()) {
      try {
        requestNext();
      } catch (RuntimeException | Error e) {
        noteFailure(e);
      }
      skipDelivered();
    }
  }

  private void noteFailure(Throwable thrown) {
    failure = thrown;
    if (!(thrown instanceof OutOfMemoryError)) { // which says nothing about the sampler
      failures = failedAt == window.next() ? failures + 1 : 1;
      failedAt = window.next();
    }
  }

  private void skipDelivered() {
    while (!window.isFull() && Arrays.binarySearch(deliveredBefore, window.next()) >= 0) {
      window.skip();
      cursorIsLost = true;
    }
  }

  private void requestNext() {
    long batch = window.next();
    if (cursorIsLost) {
      cursor().seek(batch);
    }
    cursorIsLost = true; // until everything has succeeded
    IndexRequest request = window.blank();
    request.epoch = epoch;
    request.batch = batch;
    long start = System.nanoTime();
    request.size = read(request);
    samplingNanos += System.nanoTime() - start;
    request.failure = check(request);
    if (request.failure == null) {
      engine.request(request);
    }
    window.add(request);
    cursorIsLost = false;
  }

  private int read(IndexRequest request) {
    int size = cursor().next(request.indices, 0);
    if (size == 0) {
      throw new IllegalStateException(
          "the batch sampler promised %d batches but ended after %d"
              .formatted(count, request.batch));
    }
    return size;
  }

  private @Nullable SampleException check(IndexRequest request) {
    for (int i = 0; i < request.size; i++) {
      long index = request.indices[i];
      if (index < 0 || index >= datasetSize) {
        return new SampleException(
            index,
            epoch,
            request.batch,
            "the index is outside of the dataset, [0, " + datasetSize + ")");
      }
    }
    return null;
  }

  @Override
  public synchronized long samplingNanos() {
    return samplingNanos;
  }

  @Override
  public synchronized boolean isOver(int prefetch) {
    skipDelivered();
    return isComplete() || (hasGivenUp() && window.pending() == 0);
  }

  private boolean isComplete() {
    return window.oldest() == count;
  }

  /** Returns whether the sampler has failed permanently, and its failure was thrown. */
  private boolean hasGivenUp() {
    return failure == null && failures == MAX_FAILURES && failedAt == window.next();
  }

  @Override
  public synchronized String end() {
    return isComplete()
        ? "epoch %d has %d batches".formatted(epoch, count)
        : "the pass over epoch %d ended before batch %d of %d, where its sampler failed"
            .formatted(epoch, failedAt, count);
  }

  @Override
  public synchronized void throwIfDue() {
    if (window.pending() == 0) {
      throwFailure();
      return;
    }
    IndexRequest oldest = window.first();
    if (oldest != null && oldest.failure != null) {
      SampleException wrong = oldest.failure;
      window.release(window.deliver(window.oldest()));
      throw wrong;
    }
  }

  private void throwFailure() {
    Throwable due = failure;
    failure = null;
    if (due instanceof Error error) {
      throw error;
    }
    if (due instanceof RuntimeException exception) {
      throw exception;
    }
  }

  @Override
  public synchronized long due() {
    return window.oldest();
  }

  @Override
  public synchronized void identify(LoadedBatch loaded) {
    loaded.identify(window.requested(loaded.batch));
  }

  @Override
  public synchronized void deliver(LoadedBatch loaded) {
    IndexRequest request = window.deliver(loaded.batch);
    if (loaded.failure != null) {
      window.release(request);
    }
  }

  @Override
  public synchronized void release(LoadedBatch batch) {
    IndexRequest request = batch.request();
    if (request != null) {
      window.release(request);
    }
  }

  @Override
  public synchronized long position() {
    return window.oldest();
  }

  @Override
  public synchronized LoaderState state(boolean isEndReported) {
    SamplerState state = cursor().stateAt(window.oldest());
    return isEndReported && isComplete()
        ? new LoaderState.IndexState(state.asFinished())
        : new LoaderState.IndexState(state, deliveredAhead());
  }

  @Override
  public synchronized LoaderState stateAt(long position) {
    if (!isInOrder) {
      throw new IllegalStateException(
          "earlier states are known only of loaders with inOrder(true), the default");
    }
    if (position < first || position > window.oldest()) {
      throw new IllegalArgumentException(
          "position must be in [%d, %d], got %d".formatted(first, window.oldest(), position));
    }
    return new LoaderState.IndexState(cursor().stateAt(position));
  }

  private long[] deliveredAhead() {
    return LongStream.concat(
            LongStream.of(window.deliveredAhead()),
            LongStream.of(deliveredBefore).filter(batch -> batch >= window.next()))
        .toArray();
  }

  @Override
  public synchronized boolean isPadding(long batch, int element) {
    return cursor().isPadding(batch, element);
  }

  @Override
  public synchronized void finish() {
    closeCursor();
  }

  @Override
  public synchronized void close() {
    closed = true;
    closeCursor();
  }

  private void closeCursor() {
    ResumableCursor.OfBatches open = cursor;
    cursor = null;
    if (open != null) {
      open.close();
    }
  }

  private ResumableCursor.OfBatches cursor() {
    ResumableCursor.OfBatches open = cursor;
    if (open == null) {
      if (closed) {
        throw new IllegalStateException("the pass is closed");
      }
      open = opener.get();
      cursor = open;
    }
    return open;
  }
}
