// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
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
 * One pass over one epoch of a {@link StreamDataset}, which can be left at any batch; what {@link
 * Batches} is for datasets with random access.
 *
 * <p>One thread takes the batches; {@link #close} may come at any moment from any thread. A batch
 * ends when the next one is taken.
 */
// Both, since there is one sequence: for-each reads well, and next() alone is a step of a pipeline.
@SuppressWarnings("IterableAndIterator")
public final class StreamBatches implements Iterable<Batch>, Iterator<Batch>, AutoCloseable {
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  private final StreamLoader loader;
  private final JavaFeed feed;
  private final long epoch;
  private final StreamShard[] shards;
  private final ShardPosition[] delivered; // by place in shards

  // The feed and what follows belong to the holder of this lock.
  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<StreamTask> ahead = new ArrayDeque<>();
  private int turn; // whose batch is asked for next, by place in shards
  private int next; // whose batch is delivered next
  private long taken;
  private long waitNanos;
  private boolean exhausted;
  private boolean cleanedUp;
  private @Nullable Batch current;
  private @Nullable Thread consumer;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Object closing = new Object(); // held while a pass is closed and its feed told

  StreamBatches(StreamLoader loader, JavaFeed feed, StreamStart start) {
    this.loader = loader;
    this.feed = feed;
    this.epoch = start.epoch();
    this.delivered = start.positions().toArray(ShardPosition[]::new);
    this.shards =
        start.positions().stream()
            .map(position -> new StreamShard(loader.dataset(), epoch, position))
            .toArray(StreamShard[]::new);
    this.turn = start.next();
    this.next = start.next();
    this.taken = start.batches();
  }

  void begin() {
    lock.lock();
    try {
      requireOpen();
      feed.rewind(epoch);
      request(loader.prefetch());
      requireOpen();
      feed.start();
    } finally {
      unlock();
    }
  }

  /** Asks for batches ahead, of the shards in turn. */
  private void request(int batchesAhead) {
    int over = 0;
    while (ahead.size() < batchesAhead && over < shards.length) {
      StreamShard shard = shards[turn];
      // When it is seen to be over is of no importance: a batch with nothing in it is left out.
      if (shard.isOver()) {
        over++;
      } else {
        over = 0;
        StreamTask task =
            new StreamTask(
                epoch, taken + ahead.size(), shard, loader.batchSize(), loader.dropLast());
        feed.request(task);
        ahead.add(task);
      }
      turn = (turn + 1) % shards.length;
    }
  }

  /** Waits for the next batch, without taking it; null if there is none. */
  private @Nullable StreamTask head(int batchesAhead) {
    long start = System.nanoTime();
    try {
      while (true) {
        request(batchesAhead);
        StreamTask head = ahead.peek();
        if (head == null) {
          exhausted = true;
          return null;
        }
        feed.awaitNext();
        if (!head.isNothing()) {
          return head;
        }
        feed.dropNext();
        ahead.remove();
        long number = taken;
        for (StreamTask task : ahead) {
          task.batch = number++;
        }
      }
    } catch (LoaderTimeoutException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      requireOpen();
      throw e;
    } finally {
      waitNanos += System.nanoTime() - start;
    }
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
   * Whether the epoch has another batch. Waits until that is known; the current batch stays valid.
   *
   * @throws LoaderTimeoutException if it takes longer than the loader's timeout; the call can be
   *     repeated
   * @throws IllegalStateException if the pass is closed, also while waiting
   */
  @Override
  public boolean hasNext() {
    lock.lock();
    try {
      requireOpen();
      return head(loader.prefetch()) != null;
    } finally {
      unlock();
    }
  }

  /**
   * Waits for the next batch. The batch before it ends.
   *
   * @throws NoSuchElementException if the epoch is over
   * @throws SampleException if a sample of the batch cannot be read; the pass can go on with the
   *     next batch, which begins behind that sample, or without the shard if its stream cannot go
   *     on
   * @throws LoaderTimeoutException if the batch takes longer than the loader's timeout; the call
   *     can be repeated
   * @throws IllegalStateException if the pass is closed, also while waiting
   */
  @Override
  public Batch next() {
    lock.lock();
    try {
      requireOpen();
      consumer = Thread.currentThread(); // a pass may change hands: who takes, owns
      endCurrent();
      StreamTask head = head(loader.prefetch() + 1);
      if (head == null) {
        throw new NoSuchElementException(
            "epoch %d has %d batches for this rank".formatted(epoch, taken));
      }
      ahead.remove();
      if (head.thrown != null) {
        feed.dropNext();
        deliver(head);
        throw new SampleException(head.thrownAt, epoch, taken - 1, head.thrown);
      }
      Batch batch = take(head);
      current = batch;
      return batch;
    } finally {
      unlock();
    }
  }

  private Batch take(StreamTask head) {
    try {
      Gathered gathered = feed.take(taken);
      return new Batch(this::isPadding, epoch, taken, head.samples(), gathered);
    } catch (RuntimeException | Error e) {
      requireOpen();
      throw e;
    } finally {
      deliver(head);
    }
  }

  private void deliver(StreamTask task) {
    taken++;
    if (task.after != null) {
      int place = place(task.shardNumber());
      delivered[place] = task.after;
      next = (place + 1) % shards.length;
    }
  }

  private int place(int shard) {
    int place = 0;
    while (shards[place].number() != shard) {
      place++;
    }
    return place;
  }

  /** There is no padding in streams. */
  private boolean isPadding(long batch, int element) {
    lock.lock();
    try {
      requireOpen();
      return false;
    } finally {
      unlock();
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

  /**
   * The number of batches of the epoch that this rank has delivered, those before the start of this
   * pass included.
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
   * The time that {@link #next} and {@link #hasNext} have spent on the rows of batches in this
   * pass: the wait for the workers, or the reading itself without workers.
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
      throw new IllegalStateException("the pass over epoch %d is closed".formatted(epoch));
    }
  }

  /**
   * How far the consumer has got: {@link StreamLoader#resume} delivers what {@link #next} has not.
   * After {@link #hasNext} said that there is no more, the state is that of the next epoch, unless
   * a shard was given up: that one goes on where it was.
   *
   * @return the state of this rank; to be saved before the batch after the current one is taken
   * @throws IllegalStateException if the pass is closed
   */
  public StreamState state() {
    lock.lock();
    try {
      requireOpen();
      ShardPosition[] positions = delivered.clone();
      if (exhausted) {
        Arrays.setAll(positions, i -> shards[i].position());
      }
      return new StreamState(
          loader.dataset().parameters(),
          epoch,
          loader.dataset().shards(),
          Arrays.asList(positions),
          shards[next].number(),
          taken,
          exhausted && Arrays.stream(positions).allMatch(ShardPosition::isEnded));
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
        for (StreamShard shard : shards) {
          shard.close();
        }
        loader.giveBack(this, feed);
      }
    }
  }
}
