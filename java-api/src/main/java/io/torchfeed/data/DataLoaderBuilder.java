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
  static final int MOST_PREFETCH = 1 << 16;

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
   * How many batches are gathered ahead of the consumer; by default two a worker.
   *
   * @param batches the number of batches, in [1, 65536]; only with workers
   * @return this builder
   */
  public DataLoaderBuilder prefetch(int batches) {
    this.prefetch = once("prefetch", this.prefetch, batches);
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
   * LoaderTimeoutException}; by default for ever. Only with a {@link Dataset} and workers.
   *
   * @param timeout the limit for each call, longer than 0
   * @return this builder
   */
  public DataLoaderBuilder timeout(Duration timeout) {
    this.timeout = once("timeout", this.timeout, requireNonNull(timeout, "timeout"));
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
   * @throws IllegalArgumentException if an option is out of range, prefetch or timeout is set
   *     without workers, a batch sampler beside a sampler, a batch size or {@code dropLast}, or an
   *     option for Java code over tensors
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
    requireJavaCodeFor("transform", transform);
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
    BatchLayout layout = BatchLayout.of(dataset.columns(), dataset.variableLengths(), transform);
    Slab.requireFits(layout.slabColumns(), batchRows);
    return new JavaEngine(
        new JavaFeedOptions(
            dataset,
            layout,
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
