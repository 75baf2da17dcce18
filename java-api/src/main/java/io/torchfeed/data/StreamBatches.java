// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
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
  private final StreamLoader loader;
  private final LoaderMeter meter;
  private final JavaFeed feed;
  private final long epoch;
  private final StreamShard[] shards;
  private final ShardPosition[] delivered; // by place in shards

  private final PassGate gate;

  // The feed and what follows belong to whoever is inside.
  private final Deque<StreamTask> ahead = new ArrayDeque<>();
  private int turn; // whose batch is asked for next, by place in shards
  private int next; // whose batch is delivered next
  private long taken;
  private long waitNanos;
  private long reportedAt; // to the meter
  private boolean exhausted;

  StreamBatches(StreamLoader loader, JavaFeed feed, StreamStart start) {
    this.loader = loader;
    this.meter = loader.meter();
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
    this.gate = new PassGate(feed, "the pass over epoch " + epoch, new Ending());
  }

  void begin() {
    gate.enter();
    try {
      gate.requireOpen();
      reportedAt = System.nanoTime();
      if (!feed.rewind(epoch)) {
        throw new IllegalStateException("the workers are still in an earlier pass");
      }
      request(loader.prefetch());
      gate.requireOpen();
      feed.start();
    } finally {
      gate.exit();
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
      gate.requireOpen();
      throw e;
    } finally {
      long now = System.nanoTime();
      waitNanos += now - start;
      meter.spent(now - reportedAt, now - start, 0);
      reportedAt = now;
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
    gate.enter();
    try {
      gate.requireOpen();
      return head(loader.prefetch()) != null;
    } finally {
      gate.exit();
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
    gate.enter();
    try {
      gate.requireOpen();
      gate.beginTaking();
      LoaderEvents.BatchWait event = LoaderEvents.beginWait();
      int ready = feed.ready();
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
      Gathered gathered = take(head);
      if (gathered.failure != null) {
        throw gathered.failure;
      }
      if (event != null) {
        event.tell(epoch, gathered, ready);
      }
      meter.delivered(gathered, ready);
      long[] samples = head.samples();
      Batch batch = new Batch(this::isPadding, epoch, samples, samples.length, gathered);
      return gate.deliver(batch);
    } finally {
      gate.exit();
    }
  }

  private Gathered take(StreamTask head) {
    try {
      return feed.take(taken);
    } catch (RuntimeException | Error e) {
      gate.requireOpen();
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
    gate.enter();
    try {
      gate.requireOpen();
      return false;
    } finally {
      gate.exit();
    }
  }

  /**
   * The number of batches of the epoch that this rank has delivered, those before the start of this
   * pass included.
   *
   * @return the number of batches
   */
  public long position() {
    gate.enter();
    try {
      return taken;
    } finally {
      gate.exit();
    }
  }

  /**
   * The time that {@link #next} and {@link #hasNext} have spent on the rows of batches in this
   * pass: the wait for the workers, or the reading itself without workers.
   *
   * @return nanoseconds
   */
  public long waitNanos() {
    gate.enter();
    try {
      return waitNanos;
    } finally {
      gate.exit();
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
    gate.enter();
    try {
      gate.requireOpen();
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
      gate.exit();
    }
  }

  /** Leaves the epoch: unread batches are dropped, the current one ends. Silent the second time. */
  @Override
  public void close() {
    gate.close();
  }

  /** Begins to close, without waiting for anybody. */
  void interrupt() {
    gate.interrupt();
  }

  private final class Ending implements PassGate.Ends {
    @Override
    public void batchEnded() {}

    @Override
    public void passEnded() {
      try {
        loader.giveBack(StreamBatches.this, feed, epoch);
      } finally {
        for (StreamShard shard : shards) {
          shard.close();
        }
      }
    }
  }
}
