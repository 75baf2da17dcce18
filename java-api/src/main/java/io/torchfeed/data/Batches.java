// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.sampler.BatchCursor;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
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

  private final DataLoader loader;
  private final NativeHandle<BatchFeed> feed;
  private final BatchCursor cursor;
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
  private boolean cursorIsLost;
  private @Nullable Batch current;
  private @Nullable Thread consumer;
  private final AtomicBoolean closed = new AtomicBoolean();

  Batches(
      DataLoader loader,
      NativeHandle<BatchFeed> feed,
      BatchCursor cursor,
      long epoch,
      long fromBatch) {
    this.loader = loader;
    this.feed = feed;
    this.cursor = cursor;
    this.count = loader.batches(epoch);
    this.epoch = epoch;
    this.first = fromBatch;
    this.ahead = new Requested[loader.prefetch() + 1];
    this.scratch = new long[loader.largestBatch()];
    this.requested = fromBatch;
    this.taken = fromBatch;
  }

  void begin() {
    lock.lock();
    try {
      requireOpen();
      feed.run(BatchFeed::rewind);
      for (int i = 0; i < loader.prefetch(); i++) {
        requestOne();
      }
      feed.run(BatchFeed::start);
    } finally {
      lock.unlock();
    }
  }

  private void requestOne() {
    if (requested == count) {
      return;
    }
    if (cursorIsLost) {
      cursor.seek(requested);
      cursorIsLost = false;
    }
    int size;
    try {
      size = cursor.next(scratch, 0);
    } catch (RuntimeException | Error e) {
      cursorIsLost = true; // it may have moved before it failed
      throw e;
    }
    if (size == 0) {
      throw new IllegalStateException(
          "the batch sampler promised %d batches but ended after %d".formatted(count, requested));
    }
    long[] indices = Arrays.copyOf(scratch, size);
    SampleException failure = check(indices);
    if (failure == null) {
      feed.run(native_ -> native_.request(indices, size));
    }
    ahead[slotOf(requested)] = new Requested(indices, failure);
    requested++;
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
   * Whether the epoch has another batch.
   *
   * @throws IllegalStateException if the pass is closed
   */
  @Override
  public boolean hasNext() {
    lock.lock();
    try {
      requireOpen();
      return taken < count;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for the next batch. The batch before it ends.
   *
   * @throws NoSuchElementException if the epoch is over
   * @throws SampleException if a sample of the batch cannot be loaded; the pass can go on with the
   *     next batch
   * @throws IllegalStateException if the pass is closed, also while waiting
   */
  @Override
  public Batch next() {
    lock.lock();
    try {
      requireOpen();
      if (taken == count) {
        throw new NoSuchElementException("epoch %d has %d batches".formatted(epoch, count));
      }
      consumer = Thread.currentThread(); // a pass may change hands: who takes, owns
      endCurrent();
      requestOne();
      long number = taken++;
      Requested next = ahead[slotOf(number)];
      if (next.failure != null) {
        throw next.failure;
      }
      Batch batch = new Batch(this, epoch, number, next.indices, takeTensors());
      current = batch;
      return batch;
    } finally {
      lock.unlock();
    }
  }

  private Tensor[] takeTensors() {
    long start = System.nanoTime();
    try (TensorVector views = NativeHandle.outsideOfScopes(() -> feed.call(BatchFeed::take))) {
      return Batch.ownTensors(views);
    } catch (IllegalStateException e) {
      requireOpen();
      throw e;
    } catch (NativeException e) {
      if (e.code() == NativeException.Code.UNREADABLE) {
        throw unreadable(e);
      }
      throw new IllegalStateException(
          ("batch %d of epoch %d, of at most %d rows, could not be gathered: %s; make batches"
                  + " smaller or lower prefetch")
              .formatted(taken - 1, epoch, loader.largestBatch(), e.getMessage()),
          e);
    } finally {
      waitNanos += System.nanoTime() - start;
    }
  }

  private SampleException unreadable(NativeException cause) {
    long row = feed.call(BatchFeed::unreadable_row);
    SampleException failure =
        new SampleException(row, epoch, taken - 1, String.valueOf(cause.getMessage()));
    failure.initCause(cause);
    return failure;
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
      lock.unlock();
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
      lock.unlock();
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
      lock.unlock();
    }
  }

  private void requireOpen() {
    if (closed.get()) {
      endCurrent();
      throw new IllegalStateException(
          "the pass over epoch %d, from batch %d on, is closed".formatted(epoch, first));
    }
  }

  /** Leaves the epoch: unread batches are dropped, the current one ends. Silent the second time. */
  @Override
  public void close() {
    boolean firstTime = closed.compareAndSet(false, true);
    if (firstTime) {
      feed.run(BatchFeed::interrupt);
    }
    lock.lock();
    try {
      endCurrent();
      if (firstTime) {
        feed.run(BatchFeed::rewind);
      }
    } finally {
      lock.unlock();
      if (firstTime) {
        loader.giveBack(this, feed);
        cursor.close();
      }
    }
  }
}
