// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.WorkerHooks;
import io.torchfeed.internal.ColumnNames;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A builder of loaders. Each option may be set once; setting it again throws {@link
 * IllegalStateException}. An option that is out of range or does not fit the dataset is rejected by
 * {@link #build}, except {@link #part}, which is checked at once. Not thread-safe.
 */
public final class DataLoaderBuilder {
  private final LoaderOptions options;
  private Batch.@Nullable Step afterTransfer;
  private boolean isForEvaluation;

  DataLoaderBuilder(LoaderData data) {
    options = new LoaderOptions(data);
  }

  /**
   * Loads each sample of the data once over all ranks, for an evaluation: in the order of the
   * indices, without padding, so that the ranks may have different numbers of batches, also none.
   * Rank r of n gets the samples r, r + n, and so on; of a stream, its shards. Takes the place of a
   * sampler and of {@link #part}. It can be set again, for the next evaluation.
   *
   * @param part the part of this rank
   * @return this builder
   * @throws IllegalStateException if a sampler, a part or {@code dropLast} is set: they could leave
   *     samples out or repeat them
   * @throws IllegalArgumentException if the data is a stream with fewer shards than ranks
   */
  public DataLoaderBuilder forEvaluation(Part part) {
    requireNonNull(part, "part");
    if (isForEvaluation) {
      options.sampler = null;
      options.part = null;
      options.dropLast = null;
    }
    if (options.sampler != null
        || options.batchSampler != null
        || options.part != null
        || options.dropLast != null) {
      throw new IllegalStateException(
          "an evaluation divides the data by itself, each sample once: leave out sampler,"
              + " batchSampler, part and dropLast");
    }
    isForEvaluation = true;
    options.dropLast = false;
    if (options.data instanceof LoaderData.Stream) {
      return part(part);
    }
    options.sampler =
        StridedSampler.of(SequentialSampler.of(options.datasetSize()), part).withTail(Tail.UNEVEN);
    return this;
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
    requireNonNull(part, "part");
    if (!(options.data instanceof LoaderData.Stream stream)) {
      throw new IllegalArgumentException(
          "part is only for streams; other datasets are divided among ranks by their sampler");
    }
    int count = stream.dataset().shards();
    if (part.worldSize() > count) {
      throw new IllegalArgumentException(
          "worldSize must be in [1, %d], the number of shards, got %d; use more shards"
              .formatted(count, part.worldSize()));
    }
    options.part = Once.set("part", options.part, part);
    return this;
  }

  /**
   * Sets the order of the samples; by default the order of the dataset. Not for streams. A plan
   * that was {@linkplain io.torchfeed.sampler.Plan#madeFor made for} a larger dataset, or has an
   * index beyond this one, is refused by {@link #build}; one for a smaller dataset, for example of
   * the labels of a subset, is accepted with a warning to the logger {@code io.torchfeed.data}.
   *
   * @param sampler a plan whose indices lie in the dataset
   * @return this builder
   */
  public DataLoaderBuilder sampler(Sampler sampler) {
    options.sampler = Once.set("sampler", options.sampler, requireNonNull(sampler, "sampler"));
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
    options.batchSampler =
        Once.set(
            "batchSampler", options.batchSampler, requireNonNull(batchSampler, "batchSampler"));
    return this;
  }

  /**
   * Sets the number of samples per batch; by default 1.
   *
   * @param batchSize the batch size of this rank, at least 1
   * @return this builder
   */
  public DataLoaderBuilder batchSize(int batchSize) {
    options.batchSize = Once.set("batchSize", options.batchSize, batchSize);
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
    options.workers = Once.set("workers", options.workers, workers);
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
    options.prefetch = Once.set("prefetch", options.prefetch, batches);
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
    options.prefetchBytes = Once.set("prefetchBytes", options.prefetchBytes, bytes);
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
    options.inOrder = Once.set("inOrder", options.inOrder, inOrder);
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
    options.dropLast = Once.set("dropLast", options.dropLast, dropLast);
    return this;
  }

  /**
   * Sets the treatment of a batch when one of its samples cannot be produced; by default the
   * consumer gets a {@link io.torchfeed.data.SampleException} in its place. For a retry over a
   * stream, the shard is reopened where the batch began; over tensors and files, the whole batch is
   * gathered again.
   *
   * @param onFailure the policy
   * @return this builder
   */
  public DataLoaderBuilder onFailure(FailurePolicy onFailure) {
    options.onFailure =
        Once.set("onFailure", options.onFailure, requireNonNull(onFailure, "onFailure"));
    return this;
  }

  /**
   * Sets how long {@link Batches#next} and, over a stream, {@link Batches#hasNext} wait for a batch
   * before they throw {@link io.torchfeed.data.LoaderTimeoutException}; by default indefinitely.
   * Only with workers.
   *
   * @param timeout the limit for each call, longer than 0; over tensors and files it is rounded up
   *     to milliseconds
   * @return this builder
   */
  public DataLoaderBuilder timeout(Duration timeout) {
    options.timeout = Once.set("timeout", options.timeout, TimeLimit.of("timeout", timeout));
    return this;
  }

  /**
   * Sets each worker's actions before its first sample and after its last.
   *
   * @param workerHooks called on the worker threads; without workers on the consumer's thread, and
   *     at the end on the thread that closes
   * @return this builder
   */
  public DataLoaderBuilder workerHooks(WorkerHooks workerHooks) {
    options.workerHooks =
        Once.set("workerHooks", options.workerHooks, requireNonNull(workerHooks, "workerHooks"));
    return this;
  }

  /**
   * Sets the seed of {@link io.torchfeed.data.SampleWriter#random} and of the random numbers of a
   * transform, which also depend on epoch and index; by default 0. It does not shuffle: {@link
   * #sampler} does. Over tensors and files of rows, only with a transform or a step after the
   * transfer. States of a loader do not contain it: a pass is resumed exactly with the same seed.
   *
   * @param seed any number
   * @return this builder
   */
  public DataLoaderBuilder seed(long seed) {
    options.seed = Once.set("seed", options.seed, seed);
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
    options.device = Once.set("device", options.device, requireNonNull(device, "device"));
    return this;
  }

  /**
   * Lets the {@link #device} gather the rows itself: it reads them from the memory of the host, at
   * nearly the rate of a copy, without worker threads. The tensors of a {@link
   * io.torchfeed.data.TensorDataset} are page-locked meanwhile, from {@link #build} to the end of
   * the loader, which takes 50 to 200 ms per GB. By default, workers gather batches into
   * page-locked memory, which is then copied.
   *
   * <p>Only rows of at least 1 KiB are read by the device; shorter ones, such as labels, are
   * gathered by the thread that takes the batch. Of use where a batch has tens of MB: small ones
   * are faster with workers. Needs a CUDA device, and takes no option of workers.
   *
   * @return this builder
   */
  public DataLoaderBuilder gatherOnDevice() {
    options.gathersOnDevice = Once.set("gatherOnDevice", options.gathersOnDevice, true);
    return this;
  }

  /**
   * Loads into page-locked memory, so that the consumer can copy batches to the GPU itself without
   * waiting: {@code pin_memory=True}. By default, and with {@link #device}, which pins by itself,
   * the consumer gets other memory. The memory of a batch is freed after it, and libtorch's
   * allocator uses it again once the copies that libtorch started from it have completed, even if
   * the tensors are gone by then. Tensors that a {@link #transform} returns are page-locked only if
   * they are the batch's own.
   *
   * <p>Without a GPU, {@link #build} throws an {@link IllegalStateException}, where PyTorch prints
   * a warning and does not pin.
   *
   * @return this builder
   */
  public DataLoaderBuilder pinMemory() {
    Facade.load();
    return pinMemory(torchfeed.accelerator_name().getString());
  }

  /** Loads into memory that is page-locked for a device, which need not be the accelerator. */
  DataLoaderBuilder pinMemory(String device) {
    if (options.pinnedFor != null) {
      throw new IllegalStateException("pinMemory was already called; call it once");
    }
    options.pinnedFor = device;
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
    options.transform =
        Once.set("transform", options.transform, requireNonNull(transform, "transform"));
    return this;
  }

  /**
   * Sets a step that runs on the delivered batch, on the device of its tensors; by default none.
   * The thread that takes a batch runs it within {@link Batches#next}, with both engines; a device
   * only enqueues its work. It depends on the batch and the seed alone, so a resumed pass gets the
   * same tensors.
   *
   * <pre>{@code
   * DataLoader.over(dataset).batchSize(64).seed(1).device("cuda:0")
   *     .afterTransfer(Batch.Step.images(0, tensorPlan).andThen(Batch.Step.of(BatchMix.mixUp(0.2, 10))));
   * }</pre>
   *
   * @param step computes the tensors of the batch
   * @return this builder
   */
  public DataLoaderBuilder afterTransfer(Batch.Step step) {
    afterTransfer = Once.set("afterTransfer", afterTransfer, requireNonNull(step, "step"));
    return this;
  }

  /**
   * Sets that the ranks compare their plans whenever they open a pass, as by {@link
   * DataLoader#verifyRanks}: training does not reveal that one of them has another seed, or that
   * two read the same part, and with another number of batches it waits for the group's timeout.
   * All ranks then open the same passes in the same order. For a training by {@link
   * io.torchfeed.distributed.training.DistributedDataParallel}, {@code
   * verifyRanks(group::allGatherLongs)}.
   *
   * @param gather the all-gather over all ranks, called once for each pass if all is well
   * @return this builder
   */
  public DataLoaderBuilder verifyRanks(RankConsistency.AllGather gather) {
    options.gather = Once.set("verifyRanks", options.gather, requireNonNull(gather, "gather"));
    return this;
  }

  /**
   * Builds the loader and starts its worker threads.
   *
   * @return the loader; the caller closes it
   * @throws IllegalArgumentException if an option is out of range or does not fit the dataset; if
   *     two columns have one name; if a prefetch option or a timeout is set without workers; if a
   *     batch sampler is combined with a sampler, a batch size or {@code dropLast}; if its largest
   *     batches have more indices than the Java heap can hold; or if libtorch has no such device
   * @throws IllegalStateException if the dataset is closed, the threads cannot be started, or this
   *     libtorch cannot use the device; the message names the missing part
   */
  public DataLoader build() {
    ColumnNames names = options.data.names();
    Batch.Step step = afterTransfer;
    if (step instanceof DecodeStep decoding && options.isOnDevice()) {
      step = decoding.ahead(options);
    }
    return new DataLoader(
        options.build(step != null), step, options.seedOrDefault(), names, options.gather);
  }
}
