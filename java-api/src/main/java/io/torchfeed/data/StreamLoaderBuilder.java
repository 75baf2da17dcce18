// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static io.torchfeed.data.DataLoaderBuilder.limited;
import static io.torchfeed.data.DataLoaderBuilder.once;
import static io.torchfeed.data.DataLoaderBuilder.requireRange;
import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.Slab;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The description of a loader of streams. Each option may be set once. Not thread-safe. */
public final class StreamLoaderBuilder {
  private final StreamDataset dataset;
  private @Nullable List<Integer> shards;
  private @Nullable Integer batchSize;
  private @Nullable Integer workers;
  private @Nullable Integer prefetch;
  private @Nullable Boolean dropLast;
  private @Nullable FailurePolicy onFailure;
  private @Nullable Duration timeout;
  private @Nullable WorkerHooks workerHooks;
  private @Nullable Long seed;
  private @Nullable BatchTransform transform;

  StreamLoaderBuilder(StreamDataset dataset) {
    this.dataset = dataset;
  }

  /**
   * Which rank this is: it reads each shard s with s mod {@code worldSize} = {@code rank}; by
   * default all of them.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @param worldSize the number of ranks, at most that of the shards
   * @return this builder
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public StreamLoaderBuilder rank(int rank, int worldSize) {
    if (worldSize < 1 || worldSize > dataset.shards()) {
      throw new IllegalArgumentException(
          "worldSize must be in [1, %d], the number of shards, got %d; divide the data into more"
              .formatted(dataset.shards(), worldSize));
    }
    requireRange("rank", rank, 0, worldSize - 1);
    this.shards = once("rank", this.shards, StreamStart.shards(dataset.shards(), rank, worldSize));
    return this;
  }

  /**
   * The number of samples in a batch; by default 1.
   *
   * @param batchSize the batch size of this rank, at least 1
   * @return this builder
   */
  public StreamLoaderBuilder batchSize(int batchSize) {
    this.batchSize = once("batchSize", this.batchSize, batchSize);
    return this;
  }

  /**
   * The number of threads that read batches in the background; by default 1. With 0 the thread that
   * takes a batch reads it. More than the rank has shards are of no use.
   *
   * @param workers the number of threads, in [0, 1024]
   * @return this builder
   */
  public StreamLoaderBuilder workers(int workers) {
    this.workers = once("workers", this.workers, workers);
    return this;
  }

  /**
   * How many batches are read ahead of the consumer; by default two a worker and two more, or as
   * many as take 8 MiB, up to eight, whichever is more.
   *
   * @param batches the number of batches, in [1, 65536]; only with workers
   * @return this builder
   */
  public StreamLoaderBuilder prefetch(int batches) {
    this.prefetch = once("prefetch", this.prefetch, batches);
    return this;
  }

  /**
   * Whether the last batch of each shard is left out if it is not full; by default it is delivered.
   *
   * @param dropLast true to leave it out
   * @return this builder
   */
  public StreamLoaderBuilder dropLast(boolean dropLast) {
    this.dropLast = once("dropLast", this.dropLast, dropLast);
    return this;
  }

  /**
   * What becomes of a batch of which a sample cannot be read; by default the consumer gets a {@link
   * SampleException} in its place. To try again, the shard is opened anew where the batch began.
   *
   * @param onFailure the policy
   * @return this builder
   */
  public StreamLoaderBuilder onFailure(FailurePolicy onFailure) {
    this.onFailure = once("onFailure", this.onFailure, requireNonNull(onFailure, "onFailure"));
    return this;
  }

  /**
   * How long {@link StreamBatches#next} and {@link StreamBatches#hasNext} wait for a batch before
   * they throw {@link LoaderTimeoutException}; by default for ever. Only with workers.
   *
   * @param timeout the limit for each call, longer than 0
   * @return this builder
   */
  public StreamLoaderBuilder timeout(Duration timeout) {
    this.timeout = once("timeout", this.timeout, limited(requireNonNull(timeout, "timeout")));
    return this;
  }

  /**
   * What each worker does before its first sample and after its last.
   *
   * @param workerHooks called in the workers' threads; without workers in that of the consumer, and
   *     at the end in that of whoever closes
   * @return this builder
   */
  public StreamLoaderBuilder workerHooks(WorkerHooks workerHooks) {
    this.workerHooks =
        once("workerHooks", this.workerHooks, requireNonNull(workerHooks, "workerHooks"));
    return this;
  }

  /**
   * What {@link SampleWriter#random} depends on, beside epoch and sample; by default 0.
   *
   * @param seed any number
   * @return this builder
   */
  public StreamLoaderBuilder seed(long seed) {
    this.seed = once("seed", this.seed, seed);
    return this;
  }

  /**
   * What becomes of each batch once its samples are written, on the worker; by default nothing.
   *
   * @param transform makes the tensors of the batch
   * @return this builder
   */
  public StreamLoaderBuilder transform(BatchTransform transform) {
    this.transform = once("transform", this.transform, requireNonNull(transform, "transform"));
    return this;
  }

  /**
   * Builds the loader.
   *
   * @return the loader; the caller closes it
   * @throws IllegalArgumentException if an option is out of range, or prefetch or timeout is set
   *     without workers
   */
  public StreamLoader build() {
    int threads = workers == null ? 1 : workers;
    int rows = batchSize == null ? 1 : batchSize;
    requireRange("workers", threads, 0, DataLoaderBuilder.MOST_WORKERS);
    Prefetch ahead = Prefetch.of(prefetch, null, threads);
    requireRange("batchSize", rows, 1, Integer.MAX_VALUE);
    if (threads == 0 && (prefetch != null || timeout != null)) {
      throw new IllegalArgumentException(
          "prefetch and timeout need workers, got workers 0, prefetch %s and timeout %s"
              .formatted(prefetch, timeout));
    }
    if (timeout != null && (timeout.isZero() || timeout.isNegative())) {
      throw new IllegalArgumentException("timeout must be longer than 0, got " + timeout);
    }
    JavaFeedOptions options = feedOptions(rows, threads);
    return new StreamLoader(
        dataset,
        shards == null ? StreamStart.shards(dataset.shards(), 0, 1) : shards,
        options,
        ahead.batches(Slab.bytes(options.layout().slabColumns(), rows)),
        Boolean.TRUE.equals(dropLast));
  }

  private JavaFeedOptions feedOptions(int rows, int threads) {
    BatchLayout layout = BatchLayout.of(dataset.columns(), dataset.variableLengths(), transform);
    Slab.requireFits(layout.slabColumns(), rows);
    return new JavaFeedOptions(
        null,
        layout,
        rows,
        threads,
        true,
        onFailure == null ? FailurePolicy.stop() : onFailure,
        timeout,
        workerHooks == null ? new WorkerHooks() {} : workerHooks,
        new AtomicInteger(),
        seed == null ? 0 : seed,
        new LoaderMeter(threads, true));
  }
}
