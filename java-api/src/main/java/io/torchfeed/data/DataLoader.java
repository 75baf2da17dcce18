// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Batching.LastBatch;
import io.torchfeed.sampler.FixedBatches;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SequentialSampler;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Brings the samples of a dataset as batches of tensors, in the order of a sampler.
 *
 * <p>The work is done by libtorch's C++ data loader: its worker threads gather the rows of a batch
 * straight into reused memory. Each {@link #epoch} is a pass of its own; passes may be left early
 * and may run side by side. Thread-safe, the passes it hands out are not.
 */
public final class DataLoader implements AutoCloseable {
  /** Feeds kept for the next pass; more are needed only while passes run side by side. */
  private static final int IDLE_FEEDS = 2;

  private final HeldRows rows;
  private final long datasetSize;
  private final BatchSampler plan;
  private final int workers;
  private final int prefetch;

  private final Object lock = new Object();
  private final Deque<NativeHandle<BatchFeed>> idle = new ArrayDeque<>();
  private final Set<Batches> open = new HashSet<>();
  private boolean closed;

  private DataLoader(Builder builder, HeldRows rows) {
    this.rows = rows;
    this.datasetSize = builder.datasetSize;
    this.plan = builder.plan();
    this.workers = builder.workersOrDefault();
    this.prefetch = builder.prefetchOrDefault();
    this.idle.add(createFeed());
  }

  /**
   * Begins the description of a loader.
   *
   * @param dataset what to load; it stays the caller's and may be closed once the loader is built
   * @return a builder
   */
  public static Builder over(TensorDataset dataset) {
    return new Builder(requireNonNull(dataset, "dataset").size(), dataset::share);
  }

  /**
   * Begins the description of a loader that reads from files.
   *
   * @param dataset what to load; it stays the caller's and may be closed once the loader is built,
   *     which keeps the files open
   * @return a builder
   */
  public static Builder over(FileDataset dataset) {
    return new Builder(requireNonNull(dataset, "dataset").size(), dataset::share);
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
    BatchCursor cursor = plan.epoch(epoch);
    try {
      if (fromBatch > 0) {
        cursor.seek(fromBatch);
      }
      return open(epoch, fromBatch, cursor);
    } catch (RuntimeException | Error e) {
      cursor.close();
      throw e;
    }
  }

  private Batches open(long epoch, long fromBatch, BatchCursor cursor) {
    NativeHandle<BatchFeed> feed = takeFeed();
    Batches pass = new Batches(this, feed, cursor, epoch, fromBatch);
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

  private NativeHandle<BatchFeed> takeFeed() {
    synchronized (lock) {
      requireOpen();
      NativeHandle<BatchFeed> feed = idle.poll();
      if (feed != null) {
        return feed;
      }
    }
    return createFeed();
  }

  private NativeHandle<BatchFeed> createFeed() {
    try {
      return rows.feed(plan.largestBatch(), workers, prefetch);
    } catch (NativeException e) {
      throw new IllegalStateException(
          "%d worker threads could not be started: %s".formatted(workers, e.getMessage()), e);
    }
  }

  /** Ends a pass: its feed waits for the next one, or is freed. */
  void giveBack(Batches pass, NativeHandle<BatchFeed> feed) {
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
      idle.forEach(NativeHandle::close);
      idle.clear();
    }
    rows.close();
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

  /** The description of a loader. Each option may be set once. Not thread-safe. */
  public static final class Builder {
    private static final int MOST_WORKERS = 1024;
    private static final int MOST_PREFETCH = 1 << 16;

    private final long datasetSize;
    private final Function<String, HeldRows> dataset;
    private @Nullable Sampler sampler;
    private @Nullable BatchSampler batchSampler;
    private @Nullable Integer batchSize;
    private @Nullable Integer workers;
    private @Nullable Integer prefetch;
    private @Nullable Boolean dropLast;

    private Builder(long datasetSize, Function<String, HeldRows> dataset) {
      this.datasetSize = datasetSize;
      this.dataset = dataset;
    }

    /**
     * The order of the samples; by default the order of the dataset.
     *
     * @param sampler a plan whose indices lie in the dataset
     * @return this builder
     */
    public Builder sampler(Sampler sampler) {
      this.sampler = once("sampler", this.sampler, requireNonNull(sampler, "sampler"));
      return this;
    }

    /**
     * The order of the samples and where its batches begin and end, instead of a sampler, a batch
     * size and {@code dropLast}.
     *
     * @param batchSampler a plan whose indices lie in the dataset
     * @return this builder
     */
    public Builder batchSampler(BatchSampler batchSampler) {
      this.batchSampler =
          once("batchSampler", this.batchSampler, requireNonNull(batchSampler, "batchSampler"));
      return this;
    }

    /**
     * The number of samples in a batch; by default 1.
     *
     * @param batchSize the batch size of this rank, at least 1
     * @return this builder
     */
    public Builder batchSize(int batchSize) {
      this.batchSize = once("batchSize", this.batchSize, batchSize);
      return this;
    }

    /**
     * The number of threads that gather batches in the background; by default 1. With 0 the thread
     * that takes a batch gathers it.
     *
     * @param workers the number of threads, in [0, 1024]
     * @return this builder
     */
    public Builder workers(int workers) {
      this.workers = once("workers", this.workers, workers);
      return this;
    }

    /**
     * How many batches are gathered ahead of the consumer; by default two a worker.
     *
     * @param batches the number of batches, in [1, 65536]; only with workers
     * @return this builder
     */
    public Builder prefetch(int batches) {
      this.prefetch = once("prefetch", this.prefetch, batches);
      return this;
    }

    /**
     * Whether a last batch that is not full is left out; by default it is delivered.
     *
     * @param dropLast true to leave it out
     * @return this builder
     */
    public Builder dropLast(boolean dropLast) {
      this.dropLast = once("dropLast", this.dropLast, dropLast);
      return this;
    }

    /**
     * Builds the loader and starts its worker threads.
     *
     * @return the loader; the caller closes it
     * @throws IllegalArgumentException if an option is out of range, prefetch is set without
     *     workers, or a batch sampler beside a sampler, a batch size or {@code dropLast}
     * @throws IllegalStateException if the dataset is closed, or the threads cannot be started
     */
    public DataLoader build() {
      requireRange("workers", workersOrDefault(), 0, MOST_WORKERS);
      if (prefetch != null && workersOrDefault() == 0) {
        throw new IllegalArgumentException(
            "prefetch needs workers, got workers 0 and prefetch " + prefetch);
      }
      requireRange("prefetch", prefetchOrDefault(), 1, MOST_PREFETCH);
      plan(); // checks the batch size
      HeldRows rows = dataset.apply("DataLoader");
      try {
        return new DataLoader(this, rows);
      } catch (RuntimeException | Error e) {
        rows.close();
        throw e;
      }
    }

    private Sampler samplerOrDefault() {
      return sampler == null ? new SequentialSampler(datasetSize) : sampler;
    }

    private BatchSampler plan() {
      if (batchSampler == null) {
        return new FixedBatches(
            samplerOrDefault(),
            batchSize == null ? 1 : batchSize,
            Boolean.TRUE.equals(dropLast) ? LastBatch.DROP : LastBatch.KEEP);
      }
      if (sampler != null || batchSize != null || dropLast != null) {
        throw new IllegalArgumentException(
            "batchSampler decides order and batches: leave out sampler, batchSize and dropLast");
      }
      return batchSampler;
    }

    private int workersOrDefault() {
      return workers == null ? 1 : workers;
    }

    private int prefetchOrDefault() {
      return prefetch == null ? Math.max(1, 2 * workersOrDefault()) : prefetch;
    }

    private static <T> T once(String option, @Nullable T before, T value) {
      if (before != null) {
        throw new IllegalStateException(option + " was already set to " + before);
      }
      return value;
    }

    private static void requireRange(String option, int value, int least, int most) {
      if (value < least || value > most) {
        throw new IllegalArgumentException(
            "%s must be in [%d, %d], got %d".formatted(option, least, most, value));
      }
    }
  }
}
