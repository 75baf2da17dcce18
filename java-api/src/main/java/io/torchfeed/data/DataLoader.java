// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Batching.LastBatch;
import io.torchfeed.sampler.FixedBatches;
import io.torchfeed.sampler.ResumableBatchCursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.SequentialSampler;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
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

  private final Object lock = new Object();
  private final Deque<Feed> idle = new ArrayDeque<>();
  private final Set<Batches> open = new HashSet<>();
  private boolean closed;

  private DataLoader(Engine engine, long datasetSize, BatchSampler plan, int prefetch) {
    this.engine = engine;
    this.datasetSize = datasetSize;
    this.plan = plan;
    this.prefetch = prefetch;
    this.idle.add(engine.createFeed());
  }

  /**
   * Begins the description of a loader.
   *
   * @param dataset what to load; it stays the caller's and may be closed once the loader is built
   * @return a builder
   */
  public static Builder over(TensorDataset dataset) {
    return new Builder(requireNonNull(dataset, "dataset").size(), dataset::share, null);
  }

  /**
   * Begins the description of a loader that reads from files.
   *
   * @param dataset what to load; it stays the caller's and may be closed once the loader is built,
   *     which keeps the files open
   * @return a builder
   */
  public static Builder over(FileDataset dataset) {
    return new Builder(requireNonNull(dataset, "dataset").size(), dataset::share, null);
  }

  /**
   * Begins the description of a loader of samples that Java code makes, on worker threads of the
   * JVM.
   *
   * @param dataset what to load; it stays the caller's
   * @return a builder
   * @throws IllegalArgumentException if the dataset has no column or a negative size
   */
  public static Builder over(Dataset dataset) {
    requireNonNull(dataset, "dataset");
    if (dataset.size() < 0 || dataset.columns().isEmpty()) {
      throw new IllegalArgumentException(
          "a dataset must have at least 0 samples and 1 column, got %d and %d"
              .formatted(dataset.size(), dataset.columns().size()));
    }
    return new Builder(dataset.size(), null, dataset);
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

  /** The description of a loader. Each option may be set once. Not thread-safe. */
  public static final class Builder {
    private static final int MOST_WORKERS = 1024;
    private static final int MOST_PREFETCH = 1 << 16;

    private final long datasetSize;
    private final @Nullable Function<String, HeldRows> rows;
    private final @Nullable Dataset samples;
    private @Nullable Sampler sampler;
    private @Nullable BatchSampler batchSampler;
    private @Nullable Integer batchSize;
    private @Nullable Integer workers;
    private @Nullable Integer prefetch;
    private @Nullable Boolean dropLast;
    private @Nullable FailurePolicy onFailure;
    private @Nullable Duration timeout;
    private @Nullable WorkerHooks workerHooks;
    private @Nullable Long seed;

    private Builder(
        long datasetSize, @Nullable Function<String, HeldRows> rows, @Nullable Dataset samples) {
      this.datasetSize = datasetSize;
      this.rows = rows;
      this.samples = samples;
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
     * What becomes of a batch of which a sample cannot be made; by default the consumer gets a
     * {@link SampleException} in its place. Only with a {@link Dataset}.
     *
     * @param onFailure the policy
     * @return this builder
     */
    public Builder onFailure(FailurePolicy onFailure) {
      this.onFailure = once("onFailure", this.onFailure, requireNonNull(onFailure, "onFailure"));
      return this;
    }

    /**
     * How long {@link Batches#next} waits for a batch before it throws {@link
     * LoaderTimeoutException}; by default for ever. Only with a {@link Dataset} and workers.
     *
     * @param timeout the limit for each call, longer than 0
     * @return this builder
     */
    public Builder timeout(Duration timeout) {
      this.timeout = once("timeout", this.timeout, requireNonNull(timeout, "timeout"));
      return this;
    }

    /**
     * What each worker does before its first sample and after its last. Only with a {@link
     * Dataset}.
     *
     * @param workerHooks called in the workers' threads; without workers in that of the consumer,
     *     and at the end in that of whoever closes
     * @return this builder
     */
    public Builder workerHooks(WorkerHooks workerHooks) {
      this.workerHooks =
          once("workerHooks", this.workerHooks, requireNonNull(workerHooks, "workerHooks"));
      return this;
    }

    /**
     * What {@link SampleWriter#random} depends on, beside epoch and index; by default 0. Only with
     * a {@link Dataset}.
     *
     * @param seed any number
     * @return this builder
     */
    public Builder seed(long seed) {
      this.seed = once("seed", this.seed, seed);
      return this;
    }

    /**
     * Builds the loader and starts its worker threads.
     *
     * @return the loader; the caller closes it
     * @throws IllegalArgumentException if an option is out of range, prefetch or timeout is set
     *     without workers, a batch sampler beside a sampler, a batch size or {@code dropLast}, or
     *     an option for Java code over tensors
     * @throws IllegalStateException if the dataset is closed, or the threads cannot be started
     */
    public DataLoader build() {
      requireRange("workers", workersOrDefault(), 0, MOST_WORKERS);
      requireWorkersFor("prefetch", prefetch);
      requireWorkersFor("timeout", timeout);
      if (timeout != null && (timeout.isZero() || timeout.isNegative())) {
        throw new IllegalArgumentException("timeout must be longer than 0, got " + timeout);
      }
      requireRange("prefetch", prefetchOrDefault(), 1, MOST_PREFETCH);
      BatchSampler plan = plan();
      Engine engine = engine(plan.largestBatch());
      try {
        return new DataLoader(engine, datasetSize, plan, prefetchOrDefault());
      } catch (RuntimeException | Error e) {
        engine.close();
        throw e;
      }
    }

    private void requireWorkersFor(String option, @Nullable Object value) {
      if (value != null && workersOrDefault() == 0) {
        throw new IllegalArgumentException(
            "%s needs workers, got workers 0 and %s %s".formatted(option, option, value));
      }
    }

    private Engine engine(int batchRows) {
      if (samples != null) {
        return javaEngine(samples, batchRows);
      }
      requireJavaCodeFor("onFailure", onFailure);
      requireJavaCodeFor("timeout", timeout);
      requireJavaCodeFor("workerHooks", workerHooks);
      requireJavaCodeFor("seed", seed);
      return new NativeEngine(
          requireNonNull(rows).apply("DataLoader"),
          batchRows,
          workersOrDefault(),
          prefetchOrDefault());
    }

    private static void requireJavaCodeFor(String option, @Nullable Object value) {
      if (value != null) {
        throw new IllegalArgumentException(
            "%s is for datasets that are Java code, got %s over tensors or files"
                .formatted(option, value));
      }
    }

    private Engine javaEngine(Dataset dataset, int batchRows) {
      List<RowSpec> columns = List.copyOf(dataset.columns());
      Slab.requireFits(columns, batchRows);
      return new JavaEngine(
          new JavaFeedOptions(
              dataset,
              columns,
              batchRows,
              workersOrDefault(),
              onFailure == null ? FailurePolicy.stop() : onFailure,
              timeout,
              workerHooks == null ? new WorkerHooks() {} : workerHooks,
              new AtomicInteger(),
              seed == null ? 0 : seed));
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
