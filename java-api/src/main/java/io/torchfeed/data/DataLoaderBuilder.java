// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.engine.BatchEngineFactory;
import io.torchfeed.data.engine.BatchLayout;
import io.torchfeed.data.engine.IndexTasks;
import io.torchfeed.data.engine.JavaEngineFactory;
import io.torchfeed.data.engine.JavaEngineOptions;
import io.torchfeed.data.engine.LoaderData;
import io.torchfeed.data.engine.LoaderMeter;
import io.torchfeed.data.engine.NativeEngineFactory;
import io.torchfeed.data.engine.NativeEngineOptions;
import io.torchfeed.data.engine.PinnedEngineFactory;
import io.torchfeed.data.engine.TransferEngineFactory;
import io.torchfeed.data.pass.IndexSource;
import io.torchfeed.data.pass.LoaderCore;
import io.torchfeed.data.pass.PassSource;
import io.torchfeed.data.pass.Prefetch;
import io.torchfeed.data.pass.ShardSource;
import io.torchfeed.data.pass.StreamStart;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A builder of loaders. Each option may be set once; setting it again throws {@link
 * IllegalStateException}. An option that is out of range or does not fit the dataset is rejected by
 * {@link #build}, except {@link #part}, which is checked at once. Not thread-safe.
 */
public final class DataLoaderBuilder {
  private static final int MAX_WORKERS = 1024;

  /** The longest timeout that fits a long of nanoseconds; in effect unlimited. */
  private final LoaderData data;

  private @Nullable Part part;
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
  private @Nullable String pinnedFor;
  private @Nullable BatchTransform transform;

  DataLoaderBuilder(LoaderData data) {
    this.data = data;
  }

  /**
   * Sets the part of a stream that this rank reads: each shard s with s mod world size = rank. By
   * default all shards are read. Other datasets are divided by their sampler.
   *
   * @param part the part of this rank; its world size must not exceed the number of shards
   * @return this builder
   * @throws IllegalArgumentException if there are more ranks than shards, or the dataset is not a
   *     stream
   */
  public DataLoaderBuilder part(Part part) {
    if (!(data instanceof LoaderData.Stream stream)) {
      throw new IllegalArgumentException(
          "part is only for streams; other datasets are divided among ranks by their sampler");
    }
    int count = stream.dataset().shards();
    if (part.worldSize() > count) {
      throw new IllegalArgumentException(
          "worldSize must be in [1, %d], the number of shards, got %d; use more shards"
              .formatted(count, part.worldSize()));
    }
    this.part = Once.set("part", this.part, part);
    return this;
  }

  /**
   * Sets the order of the samples; by default the order of the dataset. Not for streams.
   *
   * @param sampler a plan whose indices lie in the dataset
   * @return this builder
   */
  public DataLoaderBuilder sampler(Sampler sampler) {
    this.sampler = Once.set("sampler", this.sampler, requireNonNull(sampler, "sampler"));
    return this;
  }

  /**
   * Sets the order of the samples and the bounds of the batches, in place of a sampler, a batch
   * size and {@code dropLast}. Not for streams.
   *
   * @param batchSampler a plan whose indices lie in the dataset
   * @return this builder
   */
  public DataLoaderBuilder batchSampler(BatchSampler batchSampler) {
    this.batchSampler =
        Once.set("batchSampler", this.batchSampler, requireNonNull(batchSampler, "batchSampler"));
    return this;
  }

  /**
   * Sets the number of samples per batch; by default 1.
   *
   * @param batchSize the batch size of this rank, at least 1
   * @return this builder
   */
  public DataLoaderBuilder batchSize(int batchSize) {
    this.batchSize = Once.set("batchSize", this.batchSize, batchSize);
    return this;
  }

  /**
   * Sets the number of threads that load batches in the background; by default 1. With 0, the
   * thread that takes a batch loads it; an interrupt of that thread then reaches the code of the
   * samples, and has no effect on code that neither waits nor checks for it. Over a stream, workers
   * in excess of the shards of the rank have no effect.
   *
   * @param workers the number of threads, in [0, 1024]
   * @return this builder
   */
  public DataLoaderBuilder workers(int workers) {
    this.workers = Once.set("workers", this.workers, workers);
    return this;
  }

  /**
   * Sets the number of batches that are loaded ahead of the consumer; by default two per worker
   * plus two or, if that is more, as many as fit in 8 MiB but at most eight. With 1, the workers
   * and the consumer wait for each other.
   *
   * @param batches the number of batches, in [1, 65536]; only with workers
   * @return this builder
   */
  public DataLoaderBuilder prefetch(int batches) {
    this.prefetch = Once.set("prefetch", this.prefetch, batches);
    return this;
  }

  /**
   * Limits the memory of the batches that are loaded ahead of the consumer, in addition to the
   * limit of {@link #prefetch}; by default it is limited only by that number. Each batch counts as
   * the largest one, with each column rounded up to a multiple of 64 bytes. One batch ahead is
   * always allowed, so a batch that is larger than the limit is loaded alone.
   *
   * @param bytes the limit for one pass, at least 1; only with workers
   * @return this builder
   */
  public DataLoaderBuilder prefetchBytes(long bytes) {
    this.prefetchBytes = Once.set("prefetchBytes", this.prefetchBytes, bytes);
    return this;
  }

  /**
   * Sets whether batches are delivered in the order of the sampler; by default they are. Otherwise
   * a slow batch does not hold up later ones: up to 8 times the prefetch, or 64 if that is more,
   * may overtake it. {@link Batch#number} identifies the batches; the state of the pass records
   * which ones were delivered. Over a stream, the batches of one shard keep their order, while
   * shards overtake each other. The order of delivery differs from run to run and from rank to
   * rank.
   *
   * @param inOrder false to take batches as they become ready
   * @return this builder
   */
  public DataLoaderBuilder inOrder(boolean inOrder) {
    this.inOrder = Once.set("inOrder", this.inOrder, inOrder);
    return this;
  }

  /**
   * Sets whether an incomplete last batch is dropped (over a stream, the last batch of each shard);
   * by default it is delivered.
   *
   * @param dropLast true to drop it, false to deliver it
   * @return this builder
   */
  public DataLoaderBuilder dropLast(boolean dropLast) {
    this.dropLast = Once.set("dropLast", this.dropLast, dropLast);
    return this;
  }

  /**
   * Sets what happens to a batch when one of its samples cannot be produced; by default the
   * consumer gets a {@link SampleException} in its place. For a retry over a stream, the shard is
   * reopened where the batch began; over tensors and files, the whole batch is gathered again.
   *
   * @param onFailure the policy
   * @return this builder
   */
  public DataLoaderBuilder onFailure(FailurePolicy onFailure) {
    this.onFailure = Once.set("onFailure", this.onFailure, requireNonNull(onFailure, "onFailure"));
    return this;
  }

  /**
   * Sets how long {@link Batches#next} and, over a stream, {@link Batches#hasNext} wait for a batch
   * before they throw {@link LoaderTimeoutException}; by default indefinitely. Only with workers.
   *
   * @param timeout the limit for each call, longer than 0; over tensors and files it is rounded up
   *     to milliseconds
   * @return this builder
   */
  public DataLoaderBuilder timeout(Duration timeout) {
    this.timeout = Once.set("timeout", this.timeout, TimeLimit.of("timeout", timeout));
    return this;
  }

  /**
   * Sets what each worker does before its first sample and after its last.
   *
   * @param workerHooks called on the worker threads; without workers on the consumer's thread, and
   *     at the end on the thread that closes
   * @return this builder
   */
  public DataLoaderBuilder workerHooks(WorkerHooks workerHooks) {
    this.workerHooks =
        Once.set("workerHooks", this.workerHooks, requireNonNull(workerHooks, "workerHooks"));
    return this;
  }

  /**
   * Sets the seed of {@link SampleWriter#random} and of the random numbers of a transform, which
   * also depend on epoch and index; by default 0. Over tensors and files of rows, only with a
   * transform. States of a loader do not contain it: a pass is resumed exactly with the same seed.
   *
   * @param seed any number
   * @return this builder
   */
  public DataLoaderBuilder seed(long seed) {
    this.seed = Once.set("seed", this.seed, seed);
    return this;
  }

  /**
   * Sets the device of the tensors of the batches; by default the CPU. For another device, the
   * loader loads into page-locked memory and copies each batch while the previous one is in use.
   * The CUDA stream that is current when the consumer takes the batch waits for the copy; the
   * consumer uses the batch in that stream, or makes other streams wait for it.
   *
   * @param device the name of a device, for example {@code cuda:0} or {@code cpu}
   * @return this builder
   */
  public DataLoaderBuilder device(String device) {
    this.device = Once.set("device", this.device, requireNonNull(device, "device"));
    return this;
  }

  /**
   * Loads into page-locked memory, so that the consumer can copy batches to the GPU itself without
   * waiting: {@code pin_memory=True}. By default, and with {@link #device}, which pins by itself,
   * the consumer gets other memory. The memory of a batch is freed after it, and libtorch's
   * allocator uses it again once the copies that libtorch started from it have completed, even if
   * the tensors are gone by then. Tensors that a {@link #transform} returns are page-locked only if
   * they are those of the batch.
   *
   * <p>Without a GPU, {@link #build} throws an {@link IllegalStateException}, where PyTorch prints
   * a warning and does not pin.
   *
   * @return this builder
   */
  public DataLoaderBuilder pinMemory() {
    return pinMemory(torchfeed.accelerator_name().getString());
  }

  /** Loads into memory that is page-locked for a device, which need not be the accelerator. */
  DataLoaderBuilder pinMemory(String device) {
    this.pinnedFor = Once.set("pinMemory", this.pinnedFor, device);
    return this;
  }

  /**
   * Sets a transform that runs on the worker once the samples of a batch are written; by default
   * none.
   *
   * @param transform computes the tensors of the batch
   * @return this builder
   */
  public DataLoaderBuilder transform(BatchTransform transform) {
    this.transform = Once.set("transform", this.transform, requireNonNull(transform, "transform"));
    return this;
  }

  /**
   * Builds the loader and starts its worker threads.
   *
   * @return the loader; the caller closes it
   * @throws IllegalArgumentException if an option is out of range or does not fit the dataset; if a
   *     prefetch option or a timeout is set without workers; if a batch sampler is combined with a
   *     sampler, a batch size or {@code dropLast}; if its largest batches have more indices than
   *     the Java heap can hold; or if libtorch has no such device
   * @throws IllegalStateException if the dataset is closed, the threads cannot be started, or this
   *     libtorch cannot use the device; the message says what is missing
   */
  public DataLoader build() {
    requireRange("workers", workersOrDefault(), 0, MAX_WORKERS);
    requireWorkersFor("prefetch", prefetch);
    requireWorkersFor("prefetchBytes", prefetchBytes);
    requireWorkersFor("timeout", timeout);
    if (timeout != null && (timeout.isZero() || timeout.isNegative())) {
      throw new IllegalArgumentException("timeout must be longer than 0, got " + timeout);
    }
    Prefetch ahead = Prefetch.of(prefetch, prefetchBytes, workersOrDefault());
    LoaderMeter meter = new LoaderMeter(workersOrDefault(), data.isJavaCode());
    PassSource source;
    BatchEngineFactory host;
    if (data instanceof LoaderData.Stream stream) {
      ShardSource shardSource = shardSource(stream.dataset());
      source = shardSource;
      requireUsableDevice();
      host = streamEngine(stream.dataset(), shardSource.batchSize(), meter);
    } else {
      BatchSampler plan = plan();
      requireIndicesFit(plan.maxBatchSize(), prefetchBytes == null ? ahead.least() : 1);
      source = new IndexSource(plan, datasetSize(), inOrderOrDefault());
      requireUsableDevice();
      host = engine(Math.max(1, plan.maxBatchSize()), ahead.most(), meter);
    }
    BatchEngineFactory engine = delivering(host, meter);
    try {
      return new DataLoader(new LoaderCore(engine, source, ahead, meter));
    } catch (RuntimeException | Error e) {
      engine.close();
      throw e;
    }
  }

  private void requireUsableDevice() {
    if (isOnDevice()) {
      if (pinnedFor != null) {
        throw new IllegalArgumentException(
            "pinMemory is for batches in host memory, got device %s, which pins by itself"
                .formatted(device));
      }
      TransferEngineFactory.requireUsable(requireNonNull(device));
    } else if (pinnedFor != null) {
      if (pinnedFor.equals("none")) {
        throw new IllegalStateException(
            "pinMemory needs a GPU, for which memory is page-locked, but this libtorch has none;"
                + " leave it out, or see the GPUs section of the README");
      }
      TransferEngineFactory.requireUsable(pinnedFor);
    }
  }

  private BatchEngineFactory delivering(BatchEngineFactory host, LoaderMeter meter) {
    if (isOnDevice()) {
      return new TransferEngineFactory(host, requireNonNull(device), meter);
    }
    return pinnedFor == null ? host : new PinnedEngineFactory(host, pinnedFor);
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

  private ShardSource shardSource(StreamDataset dataset) {
    if (sampler != null || batchSampler != null) {
      throw new IllegalArgumentException(
          "a stream is read in its own order: leave out sampler and batchSampler");
    }
    int rows = batchSizeOrDefault();
    requireRange("batchSize", rows, 1, Integer.MAX_VALUE);
    return new ShardSource(
        dataset,
        StreamStart.shards(dataset.shards(), part == null ? Part.whole() : part),
        rows,
        Boolean.TRUE.equals(dropLast));
  }

  private BatchEngineFactory streamEngine(StreamDataset dataset, int batchRows, LoaderMeter meter) {
    BatchLayout layout = layout(dataset.columns(), dataset.variableLengths(), batchRows);
    return javaEngine(null, layout, batchRows, meter);
  }

  private BatchEngineFactory engine(int batchRows, int maxAhead, LoaderMeter meter) {
    if (data instanceof LoaderData.Indexed indexed) {
      Dataset dataset = indexed.dataset();
      BatchLayout layout = layout(dataset.columns(), dataset.variableLengths(), batchRows);
      return javaEngine(IndexTasks.reading(dataset), layout, batchRows, meter);
    }
    LoaderData.Native rows = (LoaderData.Native) data;
    if (seed != null && transform == null && !rows.takesSeed()) {
      throw new IllegalArgumentException(
          "seed is for datasets implemented in Java, images and transforms; got %d over tensors or"
                  .formatted(seed)
              + " files without a transform");
    }
    if (transform == null && workerHooks == null && onFailure == null) {
      return new NativeEngineFactory(
          rows.share().apply("DataLoader"),
          new NativeEngineOptions(
              batchRows,
              workersOrDefault(),
              maxAhead,
              inOrderOrDefault(),
              timeout,
              seed == null ? 0 : seed,
              meter));
    }
    BatchLayout layout = layout(rows.columns(), List.of(), batchRows);
    IndexTasks tasks = IndexTasks.gathering(rows.share().apply("DataLoader"));
    return javaEngine(tasks, layout, batchRows, meter);
  }

  private BatchLayout layout(List<RowSpec> columns, List<VariableLength> lengths, int batchRows) {
    BatchLayout layout = BatchLayout.of(columns, lengths, transform);
    Slab.requireFits(layout.slabColumns(), batchRows);
    return layout;
  }

  private BatchEngineFactory javaEngine(
      @Nullable IndexTasks tasks, BatchLayout layout, int batchRows, LoaderMeter meter) {
    return new JavaEngineFactory(
        new JavaEngineOptions(
            tasks,
            layout,
            batchRows,
            workersOrDefault(),
            inOrderOrDefault(),
            onFailure == null ? FailurePolicy.report() : onFailure,
            timeout,
            workerHooks == null ? new WorkerHooks() {} : workerHooks,
            new AtomicInteger(),
            seed == null ? 0 : seed,
            meter));
  }

  private long datasetSize() {
    return data instanceof LoaderData.Indexed indexed
        ? indexed.dataset().size()
        : ((LoaderData.Native) data).size();
  }

  private BatchSampler plan() {
    if (batchSampler == null) {
      return new FixedSizeBatchSampler(
          sampler == null ? new SequentialSampler(datasetSize()) : sampler,
          batchSizeOrDefault(),
          Boolean.TRUE.equals(dropLast));
    }
    if (sampler != null || batchSize != null || dropLast != null) {
      throw new IllegalArgumentException(
          "batchSampler decides order and batches: leave out sampler, batchSize and dropLast");
    }
    if (batchSampler.maxBatchSize() < 0) {
      throw new IllegalArgumentException(
          "maxBatchSize() of a batch sampler must be at least 0, got "
              + batchSampler.maxBatchSize());
    }
    return batchSampler;
  }

  /** Requires that the lists of indices of the batches ahead and of the next one fit the heap. */
  private static void requireIndicesFit(int largest, int batchesAhead) {
    long bytes = (batchesAhead + 1L) * largest * Long.BYTES;
    long heap = Runtime.getRuntime().maxMemory();
    if (bytes > heap) {
      throw new IllegalArgumentException(
          ("maxBatchSize() of the batch sampler is %d: the indices of %d batches take %d bytes,"
                  + " but the Java heap is limited to %d; return the size of the largest batch,"
                  + " prefetch fewer, or raise -Xmx")
              .formatted(largest, batchesAhead + 1, bytes, heap));
    }
  }

  private int batchSizeOrDefault() {
    return batchSize == null ? 1 : batchSize;
  }

  private int workersOrDefault() {
    return workers == null ? 1 : workers;
  }

  private boolean inOrderOrDefault() {
    return inOrder == null || inOrder;
  }

  private static void requireRange(String option, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          "%s must be in [%d, %d], got %d".formatted(option, min, max, value));
    }
  }
}
