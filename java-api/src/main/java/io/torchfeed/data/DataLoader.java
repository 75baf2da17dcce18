// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.ResumableBatchCursor;
import io.torchfeed.sampler.SamplerState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * Brings the samples of a dataset as batches of tensors, in the order of a sampler.
 *
 * <p>Tensor columns are loaded by libtorch's C++ data loader: its worker threads gather the rows of
 * a batch straight into reused memory. A {@link Dataset} runs on threads of the JVM and writes its
 * samples there. What is delivered, and how, is the same with both. Each {@link #epoch} is a pass
 * of its own; passes may be left early and may run side by side. Thread-safe, the passes it hands
 * out are not.
 */
public final class DataLoader implements AutoCloseable {
  /** Feeds kept for the next pass; more are needed only while passes run side by side. */
  private static final int IDLE_FEEDS = 2;

  private final Engine engine;
  private final long datasetSize;
  private final BatchSampler plan;
  private final int prefetch;
  private final LoaderMeter meter;

  private final Object lock = new Object();
  private final Deque<Feed> idle = new ArrayDeque<>();
  private final Set<Batches> open = new HashSet<>();
  private boolean closed;

  DataLoader(Engine engine, long datasetSize, BatchSampler plan, int prefetch, LoaderMeter meter) {
    this.engine = engine;
    this.datasetSize = datasetSize;
    this.plan = plan;
    this.prefetch = prefetch;
    this.meter = meter;
    this.idle.add(engine.createFeed());
  }

  /**
   * Begins the description of a loader.
   *
   * @param dataset what to load; it stays the caller's and may be closed once the loader is built
   * @return a builder
   */
  public static DataLoaderBuilder over(TensorDataset dataset) {
    return new DataLoaderBuilder(requireNonNull(dataset, "dataset").size(), dataset::share, null);
  }

  /**
   * Begins the description of a loader that reads from files.
   *
   * @param dataset what to load; it stays the caller's and may be closed once the loader is built,
   *     which keeps the files open
   * @return a builder
   */
  public static DataLoaderBuilder over(FileDataset dataset) {
    return new DataLoaderBuilder(requireNonNull(dataset, "dataset").size(), dataset::share, null);
  }

  /**
   * Begins the description of a loader of samples that Java code makes, on worker threads of the
   * JVM.
   *
   * @param dataset what to load; it stays the caller's
   * @return a builder
   * @throws IllegalArgumentException if the dataset has no column or a negative size
   */
  public static DataLoaderBuilder over(Dataset dataset) {
    requireNonNull(dataset, "dataset");
    if (dataset.size() < 0 || dataset.columns().isEmpty()) {
      throw new IllegalArgumentException(
          "a dataset must have at least 0 samples and 1 column, got %d and %d"
              .formatted(dataset.size(), dataset.columns().size()));
    }
    return new DataLoaderBuilder(dataset.size(), null, dataset);
  }

  /**
   * Begins the description of a loader of samples that can only be read one after the other, on
   * worker threads of the JVM.
   *
   * @param dataset what to load; it stays the caller's
   * @return a builder
   * @throws IllegalArgumentException if the dataset has no column or no shard
   */
  public static StreamLoaderBuilder over(StreamDataset dataset) {
    requireNonNull(dataset, "dataset");
    if (dataset.shards() < 1 || dataset.columns().isEmpty()) {
      throw new IllegalArgumentException(
          "a stream must have at least 1 shard and 1 column, got %d and %d"
              .formatted(dataset.shards(), dataset.columns().size()));
    }
    return new StreamLoaderBuilder(dataset);
  }

  /**
   * Opens a pass over an epoch, from its first batch on.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the pass; the caller closes it
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the loader is closed
   */
  public Batches epoch(long epoch) {
    return epoch(epoch, 0);
  }

  /**
   * Opens a pass over the rest of an epoch: it delivers what a pass from the start would deliver
   * from batch {@code fromBatch} on.
   *
   * @param epoch the number of the epoch, at least 0
   * @param fromBatch the first batch to deliver, in [0, {@link #batches(long)}]
   * @return the pass; the caller closes it
   * @throws IllegalArgumentException if {@code epoch} or {@code fromBatch} is out of range
   * @throws IllegalStateException if the loader is closed
   */
  public Batches epoch(long epoch, long fromBatch) {
    long count = plan.batches(epoch);
    if (fromBatch < 0 || fromBatch > count) {
      throw new IllegalArgumentException(
          "fromBatch must be in [0, %d], got %d".formatted(count, fromBatch));
    }
    requireOpen();
    ResumableBatchCursor cursor = ResumableBatchCursor.open(plan, epoch);
    if (fromBatch > 0) {
      try {
        cursor.seek(fromBatch);
      } catch (RuntimeException | Error e) {
        cursor.close();
        throw e;
      }
    }
    return open(cursor);
  }

  /**
   * The batches of an epoch for subscribers: each has a pass and a thread of its own and gets
   * batches as it asks for them. A batch is valid in its call of {@code onNext}, unless it is kept.
   * What a pass throws ends the subscription.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the publisher; subscriptions end with the loader
   */
  public Flow.Publisher<Batch> publisher(long epoch) {
    return new BatchPublisher(this, epoch);
  }

  /**
   * Opens a pass that goes on where another one stopped: it delivers exactly what that one had not
   * delivered. The number of ranks, workers and engine may have changed since.
   *
   * @param state what {@link Batches#state} gave, on any rank
   * @return the pass, over the next epoch if that of the state was finished; the caller closes it
   * @throws io.torchfeed.sampler.ResumeMismatchException if the state is one of another order
   * @throws IllegalArgumentException if more was delivered than the order has
   * @throws IllegalStateException if the loader is closed
   */
  public Batches resume(SamplerState state) {
    requireOpen();
    return open(state.resumeBatches(plan));
  }

  private Batches open(ResumableBatchCursor cursor) {
    Feed feed = null;
    Batches pass;
    try {
      feed = takeFeed();
      pass = new Batches(this, feed, cursor);
    } catch (RuntimeException | Error e) {
      cursor.close();
      if (feed != null) {
        feed.close();
      }
      throw e;
    }
    try {
      synchronized (lock) {
        requireOpen();
        open.add(pass);
      }
      pass.begin();
    } catch (RuntimeException | Error e) {
      pass.close();
      throw e;
    }
    return pass;
  }

  private Feed takeFeed() {
    synchronized (lock) {
      requireOpen();
      Feed feed = idle.poll();
      if (feed != null) {
        return feed;
      }
    }
    return engine.createFeed();
  }

  /** Ends a pass: its feed waits for the next one, or is freed. */
  void giveBack(Batches pass, Feed feed) {
    synchronized (lock) {
      open.remove(pass);
      if (!closed && idle.size() < IDLE_FEEDS) {
        idle.add(feed);
        return;
      }
    }
    feed.close();
  }

  private void requireOpen() {
    synchronized (lock) {
      if (closed) {
        throw new IllegalStateException("DataLoader is closed");
      }
    }
  }

  /**
   * The number of batches that an epoch delivers to this rank.
   *
   * @return the number of batches, the same in every epoch unless a batch sampler varies it; then
   *     that of epoch 0
   */
  public long batches() {
    return batches(0);
  }

  /**
   * The number of batches that one epoch delivers to this rank.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the number of batches
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  public long batches(long epoch) {
    return plan.batches(epoch);
  }

  int largestBatch() {
    return plan.largestBatch();
  }

  int prefetch() {
    return prefetch;
  }

  long datasetSize() {
    return datasetSize;
  }

  LoaderMeter meter() {
    return meter;
  }

  /**
   * What this loader has delivered so far, where the time went, and what holds it up. Its text is
   * one line for people. In a flight recording the same is seen batch by batch, as the events
   * {@code io.torchfeed.*}; {@code torchfeed.jfc} beside this class switches them on.
   *
   * @return a snapshot, also after the loader is closed
   */
  public LoaderStats stats() {
    return meter.stats();
  }

  /**
   * Ends all passes, the worker threads and their memory. Silent the second time; it may come at
   * any moment from any thread, and a pass that is waiting for a batch then throws {@link
   * IllegalStateException}.
   */
  @Override
  public void close() {
    List<Batches> passes;
    synchronized (lock) {
      closed = true;
      passes = new ArrayList<>(open);
    }
    RuntimeException failure = null;
    for (Batches pass : passes) {
      try {
        pass.close();
      } catch (RuntimeException e) { // of a sampler's cursor; all the others end all the same
        failure = firstOf(failure, e);
      }
    }
    synchronized (lock) {
      idle.forEach(Feed::close);
      idle.clear();
    }
    engine.close();
    if (failure != null) {
      throw failure;
    }
  }

  private static RuntimeException firstOf(@Nullable RuntimeException first, RuntimeException next) {
    if (first == null) {
      return next;
    }
    first.addSuppressed(next);
    return first;
  }
}
