// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.ResumableBatchCursor;
import io.torchfeed.sampler.SamplerState;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
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
  /**
   * How far batches may be ahead of one that is late, when they come as they are ready: so many
   * times the prefetched ones, and at least so many.
   */
  private static final int OVERTAKING = 8;

  private static final int LEAST_OVERTAKING = 64;

  private final DataLoader loader;
  private final LoaderMeter meter;
  private final Feed feed;
  private final ResumableBatchCursor cursor;
  private final long count;
  private final long epoch;

  private final PassGate gate;

  // The feed, the cursor and what follows belong to whoever is inside.
  private final RequestWindow window;
  private final Requests requests;
  private long waitNanos;
  private long reportedAt; // to the meter, and what was reported
  private long reportedWait;
  private long reportedSampling;
  private boolean exhausted;
  private RequestWindow.@Nullable Requested currentRequest;

  /**
   * Takes over a cursor, at the batch to begin with.
   *
   * @param deliveredBefore batches behind that one which are not to be delivered, ascending
   */
  Batches(DataLoader loader, Feed feed, ResumableBatchCursor cursor, long[] deliveredBefore) {
    this.loader = loader;
    this.meter = loader.meter();
    this.feed = feed;
    this.cursor = cursor;
    this.epoch = cursor.epoch();
    long first = cursor.position();
    this.count = first + cursor.remaining();
    int most = loader.prefetch() + 1;
    this.window =
        new RequestWindow(
            first,
            loader.inOrder() ? most : Math.max(LEAST_OVERTAKING, OVERTAKING * most),
            loader.largestBatch());
    this.requests = new Requests(feed, cursor, window, deliveredBefore, loader.datasetSize());
    this.gate =
        new PassGate(
            feed,
            "the pass over epoch %d, from batch %d on,".formatted(epoch, first),
            new Ending());
  }

  void begin() {
    gate.enter();
    try {
      gate.requireOpen();
      reportedAt = System.nanoTime();
      if (!feed.rewind(epoch)) {
        throw new IllegalStateException("the workers are still in an earlier pass");
      }
      requests.upTo(loader.prefetch());
      gate.requireOpen();
      feed.start();
    } finally {
      gate.exit();
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
   * The batches that are still to come, as {@link #next} gives them. A batch is valid until the
   * next one is taken, so they cannot be collected, unless they are kept.
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
    gate.enter();
    try {
      gate.requireOpen();
      exhausted = requests.isOver();
      return !exhausted;
    } finally {
      gate.exit();
    }
  }

  /**
   * Waits for the next batch: the next one of the order or, with {@link
   * DataLoaderBuilder#inOrder(boolean)} false, one that is ready. The batch before it ends.
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
    gate.enter();
    try {
      gate.requireOpen();
      if (requests.isOver()) {
        exhausted = true;
        throw new NoSuchElementException("epoch %d has %d batches".formatted(epoch, count));
      }
      gate.beginTaking();
      requests.upTo(loader.prefetch() + 1);
      requests.throwIfDue();
      Gathered gathered = take(window.oldest());
      if (gathered.failure != null) {
        gate.requireOpen(); // an interrupted feed says nothing of a batch
      }
      RequestWindow.Requested request = window.deliver(gathered.batch);
      if (gathered.failure != null) {
        window.release(request);
        throw gathered.failure;
      }
      Batch batch = new Batch(this::isPadding, epoch, request.indices, request.size, gathered);
      currentRequest = request;
      return gate.deliver(batch);
    } finally {
      gate.exit();
    }
  }

  private Gathered take(long due) {
    LoaderEvents.BatchWait event = LoaderEvents.beginWait();
    int ready = feed.ready();
    long start = System.nanoTime();
    try {
      Gathered gathered = feed.take(due);
      if (gathered.failure == null) {
        if (event != null) {
          event.tell(epoch, gathered, ready);
        }
        meter.delivered(gathered, ready);
      }
      return gathered;
    } catch (LoaderTimeoutException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      gate.requireOpen();
      if (loader.inOrder()) {
        window.release(window.deliver(due));
      }
      throw e;
    } finally {
      long now = System.nanoTime();
      waitNanos += now - start;
      long sampling = requests.samplingNanos();
      meter.spent(now - reportedAt, waitNanos - reportedWait, sampling - reportedSampling);
      reportedAt = now;
      reportedWait = waitNanos;
      reportedSampling = sampling;
    }
  }

  boolean isPadding(long batch, int element) {
    gate.enter();
    try {
      gate.requireOpen();
      return cursor.isPadding(batch, element);
    } finally {
      gate.exit();
    }
  }

  /**
   * The number of batches of the epoch that lie before the first one that was not delivered, those
   * before the start of this pass included. With {@link DataLoader#epoch(long, long)} another pass
   * continues there.
   *
   * @return the number of batches
   */
  public long position() {
    gate.enter();
    try {
      return window.oldest();
    } finally {
      gate.exit();
    }
  }

  /**
   * The time that {@link #next} has spent on the rows of its batches in this pass: the wait for the
   * workers, or the gathering itself without workers.
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
   * How far the consumer has got: {@link DataLoader#resume(SamplerState)} delivers what {@link
   * #next} has not, on any number of ranks and with any workers. After {@link #hasNext} said that
   * there is no more, the state is that of the next epoch.
   *
   * <p>Of batches that came as they were ready the state knows those before the first one that did
   * not come; {@link #deliveredAhead} has the others.
   *
   * @return the state; to be saved before the batch after the current one is taken
   * @throws IllegalStateException if the pass is closed
   */
  public SamplerState state() {
    gate.enter();
    try {
      gate.requireOpen();
      SamplerState state = cursor.stateAt(window.oldest());
      return exhausted ? state.asFinished() : state;
    } finally {
      gate.exit();
    }
  }

  /**
   * The batches that {@link #next} has delivered although an earlier one did not come yet: what
   * {@link DataLoader#resume(SamplerState, long...)} needs beside the {@link #state} to deliver no
   * batch twice.
   *
   * @return their numbers, ascending; none if batches come in order
   * @throws IllegalStateException if the pass is closed
   */
  public long[] deliveredAhead() {
    gate.enter();
    try {
      gate.requireOpen();
      return requests.deliveredAhead();
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
    public void batchEnded() {
      window.release(requireNonNull(currentRequest));
      currentRequest = null;
    }

    @Override
    public void passEnded() {
      try {
        loader.giveBack(Batches.this, feed, epoch);
      } finally {
        cursor.close();
      }
    }
  }
}
