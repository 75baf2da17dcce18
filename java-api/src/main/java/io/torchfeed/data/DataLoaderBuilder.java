// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Batching.LastBatch;
import io.torchfeed.sampler.FixedBatches;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SequentialSampler;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The description of a loader. Each option may be set once. Not thread-safe. */
public final class DataLoaderBuilder {
  static final int MOST_WORKERS = 1024;

  /** What a number of nanoseconds can say, which is for ever. */
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  private final long datasetSize;
  private final @Nullable Function<String, HeldRows> rows;
  private final @Nullable Dataset samples;
  private @Nullable Sampler sampler;
  private @Nullable BatchSampler batchSampler;
  private @Nullable Integer batchSize;
  private @Nullable Integer workers;
  private @Nullable Integer prefetch;
  private @Nullable Long prefetchBytes;
  private @Nullable Boolean inOrder;
  private @Nullable Boolean dropLast;
  private @Nullable FailurePolicy onFailure;
  private @Nullable Duration timeout;
  private @Nullable WorkerHooks workerHooks;
  private @Nullable Long seed;
  private @Nullable String device;
  private @Nullable BatchTransform transform;

  DataLoaderBuilder(
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
  public DataLoaderBuilder sampler(Sampler sampler) {
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
  public DataLoaderBuilder batchSampler(BatchSampler batchSampler) {
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
  public DataLoaderBuilder batchSize(int batchSize) {
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
  public DataLoaderBuilder workers(int workers) {
    this.workers = once("workers", this.workers, workers);
    return this;
  }

  /**
   * How many batches are gathered ahead of the consumer; by default two a worker and two more, or
   * as many as take 8 MiB, up to eight, whichever is more. With 1 the workers and the consumer wait
   * for each other.
   *
   * @param batches the number of batches, in [1, 65536]; only with workers
   * @return this builder
   */
  public DataLoaderBuilder prefetch(int batches) {
    this.prefetch = once("prefetch", this.prefetch, batches);
    return this;
  }

  /**
   * How much memory batches may take that are gathered ahead of the consumer, beside the number of
   * {@link #prefetch}; by default as much as that number needs. A batch takes the rows of the
   * largest one, each column made a multiple of 64 bytes. One batch ahead is always allowed, so a
   * batch that is larger than the limit is gathered alone.
   *
   * @param bytes the limit for one pass, at least 1; only with workers
   * @return this builder
   */
  public DataLoaderBuilder prefetchBytes(long bytes) {
    this.prefetchBytes = once("prefetchBytes", this.prefetchBytes, bytes);
    return this;
  }

  /**
   * Whether batches come in the order of the sampler; by default they do. Otherwise one that takes
   * long does not hold up those behind it, of which up to 8 times as many as are prefetched, and at
   * least 64, may overtake it. {@link Batch#index} tells them apart, and {@link
   * Batches#deliveredAhead} belongs to the state of a pass. Which batches come early differs from
   * run to run and from rank to rank.
   *
   * @param inOrder false to take batches as they become ready
   * @return this builder
   */
  public DataLoaderBuilder inOrder(boolean inOrder) {
    this.inOrder = once("inOrder", this.inOrder, inOrder);
    return this;
  }

  /**
   * Whether a last batch that is not full is left out; by default it is delivered.
   *
   * @param dropLast true to leave it out
   * @return this builder
   */
  public DataLoaderBuilder dropLast(boolean dropLast) {
    this.dropLast = once("dropLast", this.dropLast, dropLast);
    return this;
  }

  /**
   * What becomes of a batch of which a sample cannot be made; by default the consumer gets a {@link
   * SampleException} in its place. Only with a {@link Dataset}.
   *
   * @param onFailure the policy
   * @return this builder
   */
  public DataLoaderBuilder onFailure(FailurePolicy onFailure) {
    this.onFailure = once("onFailure", this.onFailure, requireNonNull(onFailure, "onFailure"));
    return this;
  }

  /**
   * How long {@link Batches#next} waits for a batch before it throws {@link
   * LoaderTimeoutException}; by default for ever. Only with workers.
   *
   * @param timeout the limit for each call, longer than 0; over tensors and files it is rounded up
   *     to milliseconds
   * @return this builder
   */
  public DataLoaderBuilder timeout(Duration timeout) {
    this.timeout = once("timeout", this.timeout, limited(requireNonNull(timeout, "timeout")));
    return this;
  }

  /**
   * What each worker does before its first sample and after its last. Only with a {@link Dataset}.
   *
   * @param workerHooks called in the workers' threads; without workers in that of the consumer, and
   *     at the end in that of whoever closes
   * @return this builder
   */
  public DataLoaderBuilder workerHooks(WorkerHooks workerHooks) {
    this.workerHooks =
        once("workerHooks", this.workerHooks, requireNonNull(workerHooks, "workerHooks"));
    return this;
  }

  /**
   * What {@link SampleWriter#random} depends on, beside epoch and index; by default 0. Only with a
   * {@link Dataset}.
   *
   * @param seed any number
   * @return this builder
   */
  public DataLoaderBuilder seed(long seed) {
    this.seed = once("seed", this.seed, seed);
    return this;
  }

  /**
   * Where the tensors of the batches are; by default on the CPU. For another device the loader
   * gathers into page-locked memory and copies each batch while the one before it is computed with.
   * The consumer's work is put behind the copy in the stream that is current when it takes the
   * batch; it computes with the batch in that stream, or lets others wait for it.
   *
   * @param device the name of a device, for example {@code cuda:0} or {@code cpu}
   * @return this builder
   */
  public DataLoaderBuilder device(String device) {
    this.device = once("device", this.device, requireNonNull(device, "device"));
    return this;
  }

  /**
   * What becomes of each batch once its samples are written, on the worker; by default nothing.
   * Only with a {@link Dataset}.
   *
   * @param transform makes the tensors of the batch
   * @return this builder
   */
  public DataLoaderBuilder transform(BatchTransform transform) {
    this.transform = once("transform", this.transform, requireNonNull(transform, "transform"));
    return this;
  }

  /**
   * Builds the loader and starts its worker threads.
   *
   * @return the loader; the caller closes it
   * @throws IllegalArgumentException if an option is out of range, one for prefetching or a timeout
   *     is set without workers, a batch sampler beside a sampler, a batch size or {@code dropLast},
   *     an option for Java code over tensors, or libtorch knows no such device
   * @throws IllegalStateException if the dataset is closed, the threads cannot be started, or this
   *     libtorch cannot use the device; the message says what is missing
   */
  public DataLoader build() {
    requireRange("workers", workersOrDefault(), 0, MOST_WORKERS);
    requireWorkersFor("prefetch", prefetch);
    requireWorkersFor("prefetchBytes", prefetchBytes);
    requireWorkersFor("timeout", timeout);
    if (timeout != null && (timeout.isZero() || timeout.isNegative())) {
      throw new IllegalArgumentException("timeout must be longer than 0, got " + timeout);
    }
    Prefetch ahead = Prefetch.of(prefetch, prefetchBytes, workersOrDefault());
    BatchSampler plan = plan();
    LoaderMeter meter = new LoaderMeter(workersOrDefault(), samples != null);
    if (isOnDevice()) {
      TransferEngine.requireUsable(requireNonNull(device));
    }
    Engine host = engine(plan.largestBatch(), ahead.most(), meter);
    Engine engine = isOnDevice() ? new TransferEngine(host, requireNonNull(device), meter) : host;
    try {
      return new DataLoader(engine, datasetSize, plan, ahead, inOrderOrDefault(), meter);
    } catch (RuntimeException | Error e) {
      engine.close();
      throw e;
    }
  }

  /** No more than a number of nanoseconds can say. */
  static Duration limited(Duration timeout) {
    return timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
  }

  private boolean isOnDevice() {
    return device != null && !device.equals("cpu");
  }

  private void requireWorkersFor(String option, @Nullable Object value) {
    if (value != null && workersOrDefault() == 0) {
      throw new IllegalArgumentException(
          "%s needs workers, got workers 0 and %s %s".formatted(option, option, value));
    }
  }

  private Engine engine(int batchRows, int mostAhead, LoaderMeter meter) {
    if (samples != null) {
      return javaEngine(samples, batchRows, meter);
    }
    requireJavaCodeFor("onFailure", onFailure);
    requireJavaCodeFor("workerHooks", workerHooks);
    requireJavaCodeFor("seed", seed);
    requireJavaCodeFor("transform", transform);
    return new NativeEngine(
        requireNonNull(rows).apply("DataLoader"),
        new NativeFeedOptions(
            batchRows, workersOrDefault(), mostAhead, inOrderOrDefault(), timeout, meter));
  }

  private static void requireJavaCodeFor(String option, @Nullable Object value) {
    if (value != null) {
      throw new IllegalArgumentException(
          "%s is for datasets that are Java code, got %s over tensors or files"
              .formatted(option, value));
    }
  }

  private Engine javaEngine(Dataset dataset, int batchRows, LoaderMeter meter) {
    BatchLayout layout = BatchLayout.of(dataset.columns(), dataset.variableLengths(), transform);
    Slab.requireFits(layout.slabColumns(), batchRows);
    return new JavaEngine(
        new JavaFeedOptions(
            dataset,
            layout,
            batchRows,
            workersOrDefault(),
            inOrderOrDefault(),
            onFailure == null ? FailurePolicy.stop() : onFailure,
            timeout,
            workerHooks == null ? new WorkerHooks() {} : workerHooks,
            new AtomicInteger(),
            seed == null ? 0 : seed,
            meter));
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

  private boolean inOrderOrDefault() {
    return inOrder == null || inOrder;
  }

  static <T> T once(String option, @Nullable T before, T value) {
    if (before != null) {
      throw new IllegalStateException(option + " was already set to " + before);
    }
    return value;
  }

  static void requireRange(String option, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be in [%d, %d], got %d".formatted(option, least, most, value));
    }
  }
}
