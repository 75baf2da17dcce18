// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.sampler.ResumableBatchCursor;
import io.torchfeed.sampler.SamplerState;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * One pass over the batches of one epoch, which can be left at any batch.
 *
 * <p>One thread takes the batches; {@link #close} may come at any moment from any thread. A batch
 * ends when the next one is taken.
 */
// Both, since there is one sequence: for-each reads well, and next() alone is a step of a pipeline.
@SuppressWarnings("IterableAndIterator")
public final class Batches implements Iterable<Batch>, Iterator<Batch>, AutoCloseable {
  /** What is known of a batch while its rows are being gathered. */
  private static final class Requested {
    final long[] indices;
    final @Nullable SampleException failure;

    Requested(long[] indices, @Nullable SampleException failure) {
      this.indices = indices;
      this.failure = failure;
    }
  }

  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  private final DataLoader loader;
  private final LoaderMeter meter;
  private final Feed feed;
  private final ResumableBatchCursor cursor;
  private final long count;
  private final long epoch;
  private final long first;

  // The feed, the cursor and what follows belong to the holder of this lock.
  private final ReentrantLock lock = new ReentrantLock();
  private final Requested[] ahead;
  private final long[] scratch;
  private long requested;
  private long taken;
  private long waitNanos;
  private long samplingNanos;
  private long reportedAt; // to the meter, and what was reported of the two above
  private long reportedWait;
  private long reportedSampling;
  private boolean cursorIsLost;
  private @Nullable Throwable failure; // of the batch that was to be requested next
  private boolean exhausted;
  private boolean cleanedUp;
  private @Nullable Batch current;
  private @Nullable Thread consumer;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Object closing = new Object(); // held while a pass is closed and its feed told

  /** Takes over a cursor, at the batch to begin with. */
  Batches(DataLoader loader, Feed feed, ResumableBatchCursor cursor) {
    this.loader = loader;
    this.meter = loader.meter();
    this.feed = feed;
    this.cursor = cursor;
    this.epoch = cursor.epoch();
    this.first = cursor.position();
    this.count = first + cursor.remaining();
    this.ahead = new Requested[loader.prefetch() + 1];
    this.scratch = new long[loader.largestBatch()];
    this.requested = first;
    this.taken = first;
  }

  void begin() {
    lock.lock();
    try {
      requireOpen();
      reportedAt = System.nanoTime();
      feed.rewind(epoch);
      requestUpTo(loader.prefetch());
      requireOpen();
      feed.start();
    } finally {
      unlock();
    }
  }

  /** Asks for batches ahead; what fails is told when its batch is due. */
  private void requestUpTo(int batchesAhead) {
    while (failure == null && requested < count && requested - taken < batchesAhead) {
      try {
        requestOne();
      } catch (RuntimeException | Error e) {
        failure = e;
      }
    }
  }

  private void throwFailureIfDue() {
    Throwable due = failure;
    if (due == null || taken < requested) {
      return;
    }
    failure = null; // asked again, it may come
    if (due instanceof Error error) {
      throw error;
    }
    throw (RuntimeException) due;
  }

  private void requestOne() {
    if (cursorIsLost) {
      cursor.seek(requested);
    }
    cursorIsLost = true; // until all has gone well
    long start = System.nanoTime();
    int size = cursor.next(scratch, 0);
    samplingNanos += System.nanoTime() - start;
    if (size == 0) {
      throw new IllegalStateException(
          "the batch sampler promised %d batches but ended after %d".formatted(count, requested));
    }
    long[] indices = Arrays.copyOf(scratch, size);
    SampleException failure = check(indices);
    if (failure == null) {
      feed.request(requested, indices);
    }
    ahead[slotOf(requested)] = new Requested(indices, failure);
    requested++;
    cursorIsLost = false;
  }

  private @Nullable SampleException check(long[] indices) {
    long size = loader.datasetSize();
    for (long index : indices) {
      if (index < 0 || index >= size) {
        return new SampleException(
            index, epoch, requested, "the index is outside of the dataset, [0, " + size + ")");
      }
    }
    return null;
  }

  private int slotOf(long batch) {
    return (int) (batch % ahead.length);
  }

  /**
   * This pass itself: there is one sequence of batches, and a second iterator goes on where the
   * first one is.
   */
  @Override
  public Iterator<Batch> iterator() {
    return this;
  }

  /**
   * The batches that are still to come, in order. A batch is valid until the next one is taken, so
   * they cannot be collected, unless they are kept.
   *
   * @return a sequential stream, which closes this pass when it is closed
   */
  public Stream<Batch> stream() {
    return StreamSupport.stream(
            Spliterators.spliteratorUnknownSize(this, Spliterator.ORDERED | Spliterator.NONNULL),
            false)
        .onClose(this::close);
  }

  /**
   * Whether the epoch has another batch.
   *
   * @throws IllegalStateException if the pass is closed
   */
  @Override
  public boolean hasNext() {
    lock.lock();
    try {
      requireOpen();
      exhausted = taken == count;
      return !exhausted;
    } finally {
      unlock();
    }
  }

  /**
   * Waits for the next batch. The batch before it ends.
   *
   * @throws NoSuchElementException if the epoch is over
   * @throws SampleException if a sample of the batch cannot be loaded; the pass can go on with the
   *     next batch
   * @throws LoaderTimeoutException if the batch takes longer than the loader's timeout; the call
   *     can be repeated
   * @throws IllegalStateException if the pass is closed, also while waiting
   */
  @Override
  public Batch next() {
    lock.lock();
    try {
      requireOpen();
      if (taken == count) {
        exhausted = true;
        throw new NoSuchElementException("epoch %d has %d batches".formatted(epoch, count));
      }
      consumer = Thread.currentThread(); // a pass may change hands: who takes, owns
      endCurrent();
      requestUpTo(ahead.length);
      throwFailureIfDue();
      Requested next = ahead[slotOf(taken)];
      if (next.failure != null) {
        taken++;
        throw next.failure;
      }
      Gathered gathered = take();
      Batch batch = new Batch(this::isPadding, epoch, taken - 1, next.indices, gathered);
      current = batch;
      return batch;
    } finally {
      unlock();
    }
  }

  private Gathered take() {
    LoaderEvents.BatchWait event = new LoaderEvents.BatchWait();
    event.begin();
    int ready = feed.ready();
    long start = System.nanoTime();
    try {
      Gathered gathered = feed.take(taken);
      event.tell(epoch, taken, gathered, ready);
      meter.delivered(gathered, ready);
      taken++;
      return gathered;
    } catch (LoaderTimeoutException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      taken++;
      requireOpen();
      throw e;
    } finally {
      long now = System.nanoTime();
      waitNanos += now - start;
      meter.spent(now - reportedAt, waitNanos - reportedWait, samplingNanos - reportedSampling);
      reportedAt = now;
      reportedWait = waitNanos;
      reportedSampling = samplingNanos;
    }
  }

  /**
   * Ends the current batch. Its tensors are freed by the consumer alone, which may be inside of an
   * operation on them while another thread closes the pass.
   */
  private void endCurrent() {
    Batch batch = current;
    if (batch == null) {
      return;
    }
    batch.end();
    if (consumer == Thread.currentThread()) {
      batch.close();
      current = null;
    }
  }

  boolean isPadding(long batch, int element) {
    lock.lock();
    try {
      requireOpen();
      return cursor.isPadding(batch, element);
    } finally {
      unlock();
    }
  }

  /**
   * The number of batches of the epoch that lie before the next one, those before the start of this
   * pass included. With {@link DataLoader#epoch(long, long)} another pass continues there.
   *
   * @return the number of batches
   */
  public long position() {
    lock.lock();
    try {
      return taken;
    } finally {
      unlock();
    }
  }

  /**
   * The time that {@link #next} has spent on the rows of its batches in this pass: the wait for the
   * workers, or the gathering itself without workers.
   *
   * @return nanoseconds
   */
  public long waitNanos() {
    lock.lock();
    try {
      return waitNanos;
    } finally {
      unlock();
    }
  }

  private void requireOpen() {
    if (closed.get()) {
      endCurrent();
      throw new IllegalStateException(
          "the pass over epoch %d, from batch %d on, is closed".formatted(epoch, first));
    }
  }

  /**
   * How far the consumer has got: {@link DataLoader#resume} delivers what {@link #next} has not, on
   * any number of ranks and with any workers. After {@link #hasNext} said that there is no more,
   * the state is that of the next epoch.
   *
   * @return the state; to be saved before the batch after the current one is taken
   * @throws IllegalStateException if the pass is closed
   */
  public SamplerState state() {
    lock.lock();
    try {
      requireOpen();
      SamplerState state = cursor.stateAt(taken);
      return exhausted ? state.asFinished() : state;
    } finally {
      unlock();
    }
  }

  /** Leaves the epoch: unread batches are dropped, the current one ends. Silent the second time. */
  @Override
  public void close() {
    synchronized (closing) {
      if (closed.compareAndSet(false, true)) {
        feed.interrupt();
      }
    }
    // A consumer that is held up in the code of a dataset cleans up when it comes out.
    if (lockInTime()) {
      try {
        endCurrent(); // whoever closed first may not have been the consumer
      } finally {
        unlock();
      }
    }
  }

  private boolean lockInTime() {
    long end = System.nanoTime() + PATIENCE_NANOS;
    boolean wasInterrupted = false;
    try {
      while (true) {
        try {
          return lock.tryLock(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          wasInterrupted = true;
        }
      }
    } finally {
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Whoever comes out last of a closed pass cleans up. */
  private void unlock() {
    try {
      cleanUpIfClosed();
    } finally {
      lock.unlock();
    }
  }

  private void cleanUpIfClosed() {
    if (!closed.get() || lock.getHoldCount() > 1) {
      return;
    }
    endCurrent();
    if (!cleanedUp) {
      cleanedUp = true;
      synchronized (closing) {
        // whoever closes has interrupted this feed, and will not interrupt its next pass
      }
      try {
        feed.rewind(epoch);
      } finally {
        loader.giveBack(this, feed);
        cursor.close();
      }
    }
  }
}
