// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.ResumableBatchCursor;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Segment;
import java.util.Arrays;
import java.util.List;
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
  private static final long[] NONE = {};

  private final Engine engine;
  private final long datasetSize;
  private final BatchSampler plan;
  private final int prefetch;
  private final LoaderMeter meter;
  private final boolean inOrder;

  private final FeedPool<Batches, Feed> feeds;

  /**
   * Takes over the engine.
   *
   * @param ahead how many batches are asked for ahead of the consumer
   */
  DataLoader(
      Engine engine,
      long datasetSize,
      BatchSampler plan,
      Prefetch ahead,
      boolean inOrder,
      LoaderMeter meter) {
    this.engine = engine;
    this.datasetSize = datasetSize;
    this.plan = plan;
    this.inOrder = inOrder;
    this.meter = meter;
    Feed feed = engine.createFeed();
    this.prefetch = ahead.batches(feed.slabBytes());
    this.feeds = new FeedPool<>("DataLoader", engine::createFeed);
    this.feeds.keep(feed);
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
    feeds.requireOpen();
    ResumableBatchCursor cursor = ResumableBatchCursor.open(plan, epoch);
    if (fromBatch > 0) {
      try {
        cursor.seek(fromBatch);
      } catch (RuntimeException | Error e) {
        cursor.close();
        throw e;
      }
    }
    return open(cursor, NONE);
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
    return new BatchPublisher<>(() -> epoch(epoch), Batches::close);
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
    return resume(state, NONE);
  }

  /**
   * Opens a pass that goes on where another one stopped whose batches came as they were ready: it
   * delivers exactly what that one had not delivered.
   *
   * @param state what {@link Batches#state} gave, on this rank
   * @param deliveredAhead what {@link Batches#deliveredAhead} gave at the same time
   * @return the pass, over the next epoch if that of the state was finished; the caller closes it
   * @throws io.torchfeed.sampler.ResumeMismatchException if the state is one of another order
   * @throws IllegalArgumentException if more was delivered than the order has, or {@code
   *     deliveredAhead} is not ascending, not behind the state, or of another number of ranks,
   *     whose batches are others
   * @throws IllegalStateException if the loader is closed
   */
  public Batches resume(SamplerState state, long... deliveredAhead) {
    feeds.requireOpen();
    long[] ahead = deliveredAhead.clone();
    ResumableBatchCursor cursor = state.resumeBatches(plan);
    try {
      requireAhead(ahead, state, cursor);
    } catch (RuntimeException e) {
      cursor.close();
      throw e;
    }
    return open(cursor, ahead);
  }

  private void requireAhead(long[] ahead, SamplerState state, ResumableBatchCursor cursor) {
    if (ahead.length == 0) {
      return;
    }
    for (Segment segment : state.segments()) {
      if (segment.worldSize() != plan.worldSize()) {
        throw new IllegalArgumentException(
            "deliveredAhead holds for the world size %d that delivered it, got a plan for %d"
                .formatted(segment.worldSize(), plan.worldSize()));
      }
    }
    long before = cursor.position();
    long end = before + cursor.remaining();
    for (long batch : ahead) {
      if (batch <= before || batch >= end) {
        throw new IllegalArgumentException(
            "deliveredAhead must ascend in [%d, %d), got %s"
                .formatted(cursor.position() + 1, end, Arrays.toString(ahead)));
      }
      before = batch;
    }
  }

  private Batches open(ResumableBatchCursor cursor, long[] deliveredBefore) {
    Feed feed = null;
    Batches pass;
    try {
      feed = feeds.take();
      pass = new Batches(this, feed, cursor, deliveredBefore);
    } catch (RuntimeException | Error e) {
      cursor.close();
      if (feed != null) {
        feed.close();
      }
      throw e;
    }
    try {
      feeds.admit(pass);
      pass.begin();
    } catch (RuntimeException | Error e) {
      pass.close();
      throw e;
    }
    return pass;
  }

  /** Ends a pass. */
  void giveBack(Batches pass, Feed feed, long epoch) {
    feeds.giveBack(pass, feed, epoch);
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

  boolean inOrder() {
    return inOrder;
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
    return meter.stats(prefetch);
  }

  /**
   * Ends all passes, the worker threads and their memory. Silent the second time; it may come at
   * any moment from any thread, and a pass that is waiting for a batch then throws {@link
   * IllegalStateException}.
   *
   * <p>All are told to end before any is waited for, so it takes no longer than the slowest of
   * them, and about a second at most: threads that do not come back by then, from the code of a
   * dataset or a read of a file, are left behind with the memory that they use, which is freed when
   * they do.
   */
  @Override
  public void close() {
    List<Batches> passes = feeds.beginClosing();
    passes.forEach(Batches::interrupt);
    RuntimeException failure = null;
    for (Batches pass : passes) {
      try {
        pass.close();
      } catch (RuntimeException e) { // of a sampler's cursor; all the others end all the same
        failure = firstOf(failure, e);
      }
    }
    feeds.close();
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
