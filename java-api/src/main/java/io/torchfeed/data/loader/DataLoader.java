// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.pass.Abandoned;
import io.torchfeed.data.pass.LoaderCore;
import io.torchfeed.data.pass.Pass;
import io.torchfeed.data.pass.PassSource;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.ColumnNames;
import io.torchfeed.sampler.RankConsistency;
import java.lang.ref.Reference;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A loader that delivers the samples of a dataset as batches of tensors, in the order of a sampler
 * or in the order of a stream.
 *
 * <p>Tensor columns and rows of files are loaded by libtorch's C++ data loader: its worker threads
 * gather the rows of a batch straight into reused memory. A {@link Dataset} or a {@link
 * StreamDataset} runs on JVM threads and writes its samples into that memory. With options whose
 * code runs on the workers ({@link DataLoaderBuilder#transform transform}, {@link
 * DataLoaderBuilder#workerHooks workerHooks}, {@link DataLoaderBuilder#onFailure onFailure}), JVM
 * threads also load tensor columns and rows of files; native code gathers each batch in one call.
 * Content and order are the same for all. Each {@link #epoch} call opens an independent pass;
 * passes may be left early and may run concurrently. The loader is thread-safe; the passes it
 * returns are not.
 *
 * <p>In a stream, shard s belongs to rank s mod world size. A batch holds samples of one shard, in
 * their order, and the shards of a rank take turns: batch k of each shard, in ascending order of
 * shards, then batch k + 1 of every shard that still has one. The last batch of a shard may be
 * smaller. The batches therefore depend only on data, epoch, batch size and the shards of the rank:
 * workers and prefetching affect speed, never content. To mix samples within a shard, use {@link
 * io.torchfeed.data.source.ObjectStreamDataset#shuffled}. {@link Batch#indices} contains a number
 * for each sample that is unique in the epoch: its position in its shard times the number of
 * shards, plus the number of its shard; {@link io.torchfeed.data.SampleWriter#random} depends on
 * this number, the epoch and the seed. The number of batches is known only at the end, and may
 * differ between ranks. A training step that communicates must not wait for a rank that has
 * finished: let all ranks agree after {@link Batches#hasNext}, for example by an all-reduce of its
 * result, and stop with the first rank that has no more batches; the states of all ranks still
 * resume exactly.
 *
 * <p>A loader that becomes unreachable without being closed is closed when the garbage collector
 * discovers it, with a warning to the logger {@code io.torchfeed.data}. Building a loader while 16
 * others are open therefore requests a collection, and again when twice as many turn out to be in
 * use.
 */
public final class DataLoader implements AutoCloseable {
  private final LoaderCore core;
  private final Batch.@Nullable Step step;
  private final long seed;
  private final ColumnNames names;
  private final RankConsistency.@Nullable AllGather gather;
  private final Abandoned.Watch watch;
  private final AtomicBoolean passReported = new AtomicBoolean();

  /**
   * Takes ownership of the core.
   *
   * @param step the step that its batches go through, with the seed
   * @param names of the columns of batches
   * @param gather by which the ranks compare their plans for each pass; null if they do not
   */
  DataLoader(
      LoaderCore core,
      Batch.@Nullable Step step,
      long seed,
      ColumnNames names,
      RankConsistency.@Nullable AllGather gather) {
    this.core = core;
    this.step = step;
    this.seed = seed;
    this.names = names;
    this.gather = gather;
    try {
      this.watch =
          Abandoned.watch(
              this,
              core::close,
              () ->
                  "a DataLoader was dropped without close(); its threads and memory are freed now",
              new AtomicBoolean());
    } catch (OutOfMemoryError e) { // the core has no other owner yet
      core.close();
      throw e;
    }
  }

  /**
   * Returns the number of a column of the batches.
   *
   * @throws IllegalArgumentException if no column has the name
   */
  int column(String name) {
    return names.number(name);
  }

  /**
   * Returns a builder of a loader of rows of tensors or files, gathered by native code.
   *
   * @param dataset the dataset to load; the caller keeps ownership and may close it once the loader
   *     is built
   * @return a builder
   */
  public static DataLoaderBuilder over(NativeDataset dataset) {
    return new DataLoaderBuilder(new LoaderData.Native(requireNonNull(dataset, "dataset")));
  }

  /**
   * Returns a builder of a loader whose samples are produced by Java code, on JVM worker threads.
   *
   * @param dataset the dataset to load; the caller keeps ownership
   * @return a builder
   * @throws IllegalArgumentException if the dataset has no column or a negative size
   */
  public static DataLoaderBuilder over(Dataset dataset) {
    requireNonNull(dataset, "dataset");
    LoaderData data = new LoaderData.Indexed(dataset);
    int columns = data.columns().size();
    if (dataset.size() < 0 || columns == 0) {
      throw new IllegalArgumentException(
          "a dataset must have at least 0 samples and 1 column, got %d and %d"
              .formatted(dataset.size(), columns));
    }
    return new DataLoaderBuilder(data);
  }

  /**
   * Returns a builder of a loader whose samples can only be read sequentially, on JVM worker
   * threads.
   *
   * @param dataset the dataset to load; the caller keeps ownership
   * @return a builder
   * @throws IllegalArgumentException if the dataset has no column or no shard
   */
  public static DataLoaderBuilder over(StreamDataset dataset) {
    requireNonNull(dataset, "dataset");
    LoaderData data = new LoaderData.Stream(dataset);
    int columns = data.columns().size();
    if (dataset.shards() < 1 || columns == 0) {
      throw new IllegalArgumentException(
          "a stream must have at least 1 shard and 1 column, got %d and %d"
              .formatted(dataset.shards(), columns));
    }
    return new DataLoaderBuilder(data);
  }

  /**
   * Opens a pass over an epoch, starting with its first batch.
   *
   * <p>Until a pass is read to its end or closed, it has threads and memory of its own, which the
   * garbage collector does not see. A pass that may be left early belongs in try-with-resources:
   *
   * <pre>{@code
   * try (Batches batches = loader.epoch(epoch)) {
   *   for (Batch batch : batches) {
   *     ...
   *     break;
   *   }
   * }
   * }</pre>
   *
   * <p>If four passes or more are open, this method therefore requests a garbage collection, which
   * closes those that were dropped; if it finds that all are in use, it allows twice as many before
   * it requests another one, until fewer are in use. At most 128 passes of a loader are open at the
   * same time. With {@code -XX:+DisableExplicitGC}, this method allocates garbage instead, up to
   * the off-heap size of a pass, until a collection runs.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the pass; the caller closes it
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the loader is closed, or too many of its passes are open
   */
  public Batches epoch(long epoch) {
    return epoch(epoch, 0);
  }

  /**
   * Opens a pass over the rest of an epoch: it delivers the batches of a full pass from batch
   * {@code fromBatch} onwards.
   *
   * @param epoch the number of the epoch, at least 0
   * @param fromBatch the first batch to deliver, in [0, {@link #batches(long)}]; 0 over a stream
   * @return the pass; the caller closes it
   * @throws IllegalArgumentException if {@code epoch} or {@code fromBatch} is out of range
   * @throws IllegalStateException if the loader is closed, too many of its passes are open, or the
   *     ranks differ: {@link DataLoaderBuilder#verifyRanks}
   */
  public Batches epoch(long epoch, long fromBatch) {
    compare(epoch);
    return open(() -> core.source().at(epoch, fromBatch));
  }

  /**
   * Opens a pass that continues where another one stopped: it delivers exactly the rest. Workers,
   * prefetch, engine, the batch size and, in the order of a sampler, the number of ranks may have
   * changed since. Random numbers of samples are the same only if the seed of the loader is.
   *
   * @param state the result of {@link Batches#state}: in the order of a sampler, the state of any
   *     rank, with {@link io.torchfeed.sampler.Tail#UNEVEN} of one with the longest part; but with
   *     {@link LoaderState.IndexState#deliveredAhead} the state of this rank; over a stream, the
   *     state of a rank with the same shards
   * @return the pass, over the next epoch if the epoch of the state was finished; the caller closes
   *     it
   * @throws io.torchfeed.sampler.ResumeMismatchException if the state belongs to another order or
   *     other data, or is of a rank whose shorter part had ended, and this rank has samples left
   * @throws IllegalArgumentException if more was delivered than the order contains, the state lacks
   *     a shard of this rank, or batches were delivered ahead by a different number of ranks, whose
   *     batches are different
   * @throws IllegalStateException if the loader is closed, or too many of its passes are open
   */
  public Batches resume(LoaderState state) {
    requireNonNull(state, "state");
    return resume(List.of(state));
  }

  /**
   * Opens a pass that continues where the ranks of a stream stopped. Their number may have been
   * different: together, the ranks now deliver exactly the rest. Every rank passes the same states.
   *
   * @param states the result of {@link Batches#state} on each rank, in any order; in the order of a
   *     sampler, a single one
   * @return the pass, over the next epoch if all of the states are finished; the caller closes it
   * @throws io.torchfeed.sampler.ResumeMismatchException if a state belongs to other data
   * @throws IllegalArgumentException if the states lack a shard of this rank, contain one twice,
   *     belong to different epochs, or do not fit this loader
   * @throws IllegalStateException if the loader is closed, or too many of its passes are open
   */
  public Batches resume(List<? extends LoaderState> states) {
    List<? extends LoaderState> all = Checks.copyOf("states", states);
    if (!all.isEmpty()) {
      long epoch = all.get(0).epoch();
      compare(all.stream().allMatch(LoaderState::finished) ? epoch + 1 : epoch);
    }
    return open(() -> core.source().at(all));
  }

  private Batches open(Supplier<PassSource.Start> start) {
    try {
      core.requireOpen();
      Pass pass = core.open(start.get());
      try {
        return new Batches(this, pass, step, seed);
      } catch (OutOfMemoryError e) { // the pass has no other owner yet
        pass.close();
        throw e;
      }
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private void compare(long epoch) {
    if (gather != null) {
      verifyRanks(epoch, gather);
    }
  }

  /**
   * Checks that all ranks load the same epoch of the same data, and each another part of it: the
   * seed and all else that {@link RankConsistency} compares, the batch size and the number of
   * batches; over a stream, the number of shards. All ranks call it. Done for each pass with {@link
   * DataLoaderBuilder#verifyRanks}.
   *
   * @param epoch the number of the epoch, at least 0
   * @param all the all-gather over all ranks, such as {@code group::allGatherLongs}
   * @throws IllegalStateException on every rank, if the ranks differ or two have the same part; the
   *     message names the first difference, and the value on each rank
   */
  public void verifyRanks(long epoch, RankConsistency.AllGather all) {
    core.source().verifyRanks(epoch, requireNonNull(all, "all"));
  }

  /** Watches a pass and closes it when it becomes unreachable. */
  Abandoned.Watch watch(Batches batches, Pass pass) {
    return Abandoned.watch(
        batches,
        pass::close,
        () ->
            pass.hasEnded()
                ? null
                : "a pass of a DataLoader was dropped before its end without close(); use"
                    + " try-with-resources. Its threads and memory are freed now; further passes of"
                    + " this loader are not reported",
        passReported);
  }

  /**
   * Returns the number of batches that an epoch delivers to this rank.
   *
   * @return the number of batches, the same in every epoch unless a batch sampler varies it; in
   *     that case, the number for epoch 0
   * @throws IllegalStateException over a stream, whose number of batches is known only at its end
   */
  public long batches() {
    return batches(0);
  }

  /**
   * Returns the number of batches that the given epoch delivers to this rank.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the number of batches
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException over a stream, whose number of batches is known only at its end
   */
  public long batches(long epoch) {
    return core.source().batches(epoch);
  }

  /**
   * Returns the number of samples in the largest batch that this rank may receive.
   *
   * @return at least 1: the batch size, or less if the rank has fewer samples in an epoch
   */
  public int batchSize() {
    return core.source().maxBatchSize();
  }

  /**
   * Returns the seed of the random numbers of samples.
   *
   * @return the value of {@link DataLoaderBuilder#seed}; 0 by default
   */
  public long seed() {
    return seed;
  }

  /**
   * Returns the number of batches that are loaded ahead of the consumer.
   *
   * @return the number that {@link DataLoaderBuilder#prefetch} and {@link
   *     DataLoaderBuilder#prefetchBytes} result in; 1 without workers
   */
  public int prefetch() {
    return core.prefetch();
  }

  /**
   * Returns the statistics of this loader so far: deliveries, times, and the bottleneck. The text
   * form of the result is one human-readable line. A flight recording shows the same data batch by
   * batch, as the events {@code io.torchfeed.*}; {@code torchfeed.jfc} beside this class enables
   * them.
   *
   * @return a snapshot, available even after the loader is closed
   */
  public LoaderStats stats() {
    return new LoaderStats(core.meter().figures(core.prefetch()));
  }

  /**
   * Ends all passes and worker threads and frees their memory. Idempotent; it may be called at any
   * time from any thread, and a pass that is waiting for a batch then throws {@link
   * IllegalStateException}.
   *
   * <p>All threads are interrupted before any is joined, so closing takes no longer than the
   * slowest of them, and about a second at most: threads that have not returned by then from the
   * code of a dataset or a file read are abandoned together with the memory they use, which is
   * freed when they return.
   */
  @Override
  public void close() {
    try {
      core.close();
    } finally {
      watch.end();
    }
  }
}
