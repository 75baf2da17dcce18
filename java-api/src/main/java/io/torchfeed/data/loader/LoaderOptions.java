// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowOwner;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.WorkerHooks;
import io.torchfeed.data.engine.BatchEngineFactory;
import io.torchfeed.data.engine.DeviceFeedRows;
import io.torchfeed.data.engine.JavaEngineOptions;
import io.torchfeed.data.engine.NativeEngineOptions;
import io.torchfeed.data.pass.IndexSource;
import io.torchfeed.data.pass.LoaderCore;
import io.torchfeed.data.pass.PassSource;
import io.torchfeed.data.pass.Prefetch;
import io.torchfeed.data.pass.ShardSource;
import io.torchfeed.data.pass.StreamStart;
import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.data.task.BatchTask;
import io.torchfeed.data.task.BatchWork;
import io.torchfeed.data.task.DatasetTask;
import io.torchfeed.data.task.GatherTask;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.data.task.TaskOptions;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The options of a loader that is being built; null: the default. Not thread-safe. */
final class LoaderOptions {
  private static final int MAX_WORKERS = 1024;

  final LoaderData data;
  @Nullable Part part;
  @Nullable Sampler sampler;
  @Nullable BatchSampler batchSampler;
  @Nullable Integer batchSize;
  @Nullable Integer workers;
  @Nullable Integer prefetch;
  @Nullable Long prefetchBytes;
  @Nullable Boolean inOrder;
  @Nullable Boolean dropLast;
  @Nullable FailurePolicy onFailure;
  @Nullable Duration timeout;
  @Nullable WorkerHooks workerHooks;
  @Nullable Long seed;
  RankConsistency.@Nullable AllGather gather;
  @Nullable String device;
  @Nullable String pinnedFor;
  @Nullable BatchTransform transform;
  @Nullable Boolean gathersOnDevice;
  @Nullable BatchWork work; // by which workers send to the device

  LoaderOptions(LoaderData data) {
    this.data = data;
  }

  /**
   * Checks the options, and starts the worker threads.
   *
   * @param drawsAfterTransfer whether a step after the transfer may use the seed
   */
  LoaderCore build(boolean drawsAfterTransfer) {
    if (gathersOnDevice != null) {
      return gatheringOnDevice(drawsAfterTransfer);
    }
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
      host = streamEngine(shardSource.batchSize(), meter);
    } else {
      BatchSampler plan = plan();
      requireIndicesFit(plan.maxBatchSize(), prefetchBytes == null ? ahead.least() : 1);
      source = new IndexSource(plan, datasetSize(), inOrderOrDefault());
      requireUsableDevice();
      host = engine(plan.maxBatchSize(), ahead.most(), meter, drawsAfterTransfer);
    }
    BatchEngineFactory engine = delivering(host, meter);
    try {
      return new LoaderCore(engine, source, ahead, meter);
    } catch (RuntimeException | Error e) {
      engine.close();
      throw e;
    }
  }

  private LoaderCore gatheringOnDevice(boolean drawsAfterTransfer) {
    boolean works = workersOrDefault() > 0 && workers != null;
    boolean waits = prefetch != null || prefetchBytes != null || timeout != null;
    boolean hooks = transform != null || workerHooks != null || onFailure != null;
    if (works || waits || hooks || (seed != null && !drawsAfterTransfer)) {
      throw new IllegalArgumentException(
          "gatherOnDevice has no workers: leave out workers, prefetch, prefetchBytes, timeout,"
              + " transform, workerHooks, onFailure and, without a step after the transfer, seed");
    }
    if (!isOnDevice() || !(data instanceof LoaderData.Native tensors)) {
      throw new IllegalArgumentException(
          "gatherOnDevice is for tensors in memory and a device like cuda:0, got device "
              + (device == null ? "cpu" : device));
    }
    requireUsableDevice();
    NativeDataset rows = tensors.dataset();
    BatchSampler plan = plan();
    LoaderMeter meter = new LoaderMeter(0, false);
    long rowBytes = rows.columns().stream().mapToLong(RowSpec::bytes).sum();
    DeviceFeedRows feed =
        DeviceFeedRows.over(
            RowOwner.share(rows, "DataLoader"),
            requireNonNull(device),
            plan.maxBatchSize(),
            rowBytes,
            meter);
    BatchEngineFactory engine = feed.engines();
    try {
      Prefetch ahead = new Prefetch(feed.ahead(), feed.ahead(), Long.MAX_VALUE);
      return new LoaderCore(
          engine, new IndexSource(plan, datasetSize(), inOrderOrDefault()), ahead, meter);
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
      BatchEngineFactory.requireUsable(requireNonNull(device));
    } else if (pinnedFor != null) {
      if (pinnedFor.equals("none")) {
        throw new IllegalStateException(
            "pinMemory needs a GPU, since memory is page-locked for it, but this libtorch has none;"
                + " leave it out, or see the GPUs section of the README");
      }
      BatchEngineFactory.requireUsable(pinnedFor);
    }
  }

  private BatchEngineFactory delivering(BatchEngineFactory host, LoaderMeter meter) {
    if (work != null) {
      return host; // its workers send
    }
    if (isOnDevice()) {
      return BatchEngineFactory.copying(host, requireNonNull(device), meter);
    }
    return pinnedFor == null ? host : BatchEngineFactory.pinned(host, pinnedFor);
  }

  boolean isOnDevice() {
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

  private BatchEngineFactory streamEngine(int batchRows, LoaderMeter meter) {
    BatchLayout layout = layout(data.columns(), data.variableLengths(), batchRows);
    return javaEngine(null, () -> {}, layout, batchRows, meter);
  }

  private BatchEngineFactory engine(
      int batchRows, int maxAhead, LoaderMeter meter, boolean drawsAfterTransfer) {
    if (data instanceof LoaderData.Indexed indexed) {
      Dataset dataset = indexed.dataset();
      BatchLayout layout = layout(data.columns(), data.variableLengths(), batchRows);
      return javaEngine(DatasetTask.reading(dataset), () -> {}, layout, batchRows, meter);
    }
    NativeDataset rows = ((LoaderData.Native) data).dataset();
    if (seed != null && transform == null && !drawsAfterTransfer && !RowOwner.takesSeed(rows)) {
      throw new IllegalArgumentException(
          "seed is for datasets implemented in Java, images and transforms; got %d over tensors or"
                  .formatted(seed)
              + " files without a transform; to shuffle, pass a ShuffledSampler as sampler");
    }
    if (transform == null && workerHooks == null && onFailure == null) {
      return BatchEngineFactory.ofLibtorch(
          RowOwner.share(rows, "DataLoader"),
          new NativeEngineOptions(
              batchRows,
              workersOrDefault(),
              maxAhead,
              inOrderOrDefault(),
              timeout,
              seedOrDefault(),
              meter));
    }
    BatchLayout layout = layout(rows.columns(), List.of(), batchRows);
    NativeHandle<RowSet> shared = RowOwner.share(rows, "DataLoader");
    return javaEngine(GatherTask.gathering(shared), shared::close, layout, batchRows, meter);
  }

  private BatchLayout layout(List<RowSpec> columns, List<VariableLength> lengths, int batchRows) {
    BatchLayout layout = BatchLayout.of(columns, lengths, transform).withWork(work);
    Slab.requireFits(layout.slabColumns(), batchRows);
    return layout;
  }

  private BatchEngineFactory javaEngine(
      @Nullable Function<IndexRequest, BatchTask> tasks,
      Runnable release,
      BatchLayout layout,
      int batchRows,
      LoaderMeter meter) {
    return BatchEngineFactory.ofThreads(
        new JavaEngineOptions(
            tasks,
            new TaskOptions(
                layout,
                onFailure == null ? FailurePolicy.report() : onFailure,
                seedOrDefault(),
                meter,
                workerHooks == null ? new WorkerHooks() {} : workerHooks,
                new AtomicInteger()),
            batchRows,
            workersOrDefault(),
            inOrderOrDefault(),
            timeout),
        release);
  }

  long datasetSize() {
    return data instanceof LoaderData.Indexed indexed
        ? indexed.dataset().size()
        : ((LoaderData.Native) data).dataset().size();
  }

  private BatchSampler plan() {
    BatchSampler plan = chosenPlan();
    compareSizes(plan, datasetSize());
    return plan;
  }

  private BatchSampler chosenPlan() {
    if (batchSampler == null) {
      return FixedSizeBatchSampler.of(
              sampler == null ? SequentialSampler.of(datasetSize()) : sampler, batchSizeOrDefault())
          .withDropLast(Boolean.TRUE.equals(dropLast));
    }
    if (sampler != null || batchSize != null || dropLast != null) {
      throw new IllegalArgumentException(
          "batchSampler decides order and batches: leave out sampler, batchSize and dropLast");
    }
    if (batchSampler.maxBatchSize() < 1) {
      throw new IllegalArgumentException(
          "maxBatchSize() of a batch sampler must be at least 1, got "
              + batchSampler.maxBatchSize());
    }
    return batchSampler;
  }

  /**
   * Refuses a plan that was made for a larger dataset, or has an index beyond this one, and warns
   * of a plan for a smaller one. Lists of indices are subsets by design.
   */
  private static void compareSizes(BatchSampler plan, long datasetSize) {
    DatasetSize madeFor = plan.madeFor();
    long samples = madeFor.samples();
    if (samples > datasetSize) {
      throw new IllegalArgumentException(
          madeFor.isExact()
              ? ("the sampler was made for %d samples, but the dataset has %d; make it for the size"
                      + " of the dataset, or give the loader the dataset for which it was made")
                  .formatted(samples, datasetSize)
              : ("the sampler has the index %d, but the dataset has %d samples; give the loader the"
                      + " dataset of which the indices are")
                  .formatted(samples - 1, datasetSize));
    }
    if (madeFor.isExact() && samples < datasetSize) {
      System.getLogger("io.torchfeed.data") // not before: that loads the JDK's logging
          .log(
              System.Logger.Level.WARNING,
              ("the sampler was made for %d samples, but the dataset has %d: those from %d on are"
                      + " never loaded; make it for the size of the dataset, or give the loader the"
                      + " subset for which it was made")
                  .formatted(samples, datasetSize, samples));
    }
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

  long seedOrDefault() {
    return seed == null ? 0 : seed;
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
