// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.List;
import java.util.concurrent.Flow;

/**
 * Brings the samples of a {@link StreamDataset} as batches of tensors; what {@link DataLoader} is
 * for datasets with random access. {@link DataLoader#over(StreamDataset)} describes one.
 *
 * <p>Shard s belongs to rank s mod world size. A batch holds samples of one shard, in their order,
 * and the shards of a rank take turns: batch k of each of them, in ascending order, then batch k +
 * 1 of those that have one. Each shard may end with a batch that is not full. So the feed is a
 * function of data, epoch, batch size and shards of the rank: workers and prefetch change speed,
 * never content. To mix samples within a shard, use {@link ObjectStreamDataset#shuffled}.
 *
 * <p>{@link Batch#indices} has a number for each sample that no other sample of the epoch has: its
 * place in its shard, times the number of shards, plus the number of its shard. {@link
 * SampleWriter#random} depends on it, epoch and seed.
 *
 * <p>How many batches come is known only at the end, and ranks may have different numbers of them.
 * A training step that communicates must not wait for a rank that has ended: let all ranks agree
 * after {@link StreamBatches#hasNext}, for example by an all-reduce of its answer, and stop with
 * the first one that has no more; its state and those of the others still resume exactly.
 *
 * <p>Thread-safe, the passes it hands out are not.
 */
public final class StreamLoader implements AutoCloseable {
  private final StreamDataset dataset;
  private final List<Integer> shards;
  private final JavaFeedOptions options;
  private final int prefetch;
  private final boolean dropLast;

  private final FeedPool<StreamBatches, JavaFeed> feeds;

  StreamLoader(
      StreamDataset dataset,
      List<Integer> shards,
      JavaFeedOptions options,
      int prefetch,
      boolean dropLast) {
    this.dataset = dataset;
    this.shards = shards;
    this.options = options;
    this.prefetch = prefetch;
    this.dropLast = dropLast;
    this.feeds = new FeedPool<>("StreamLoader", () -> new JavaFeed(options));
  }

  /**
   * Opens a pass over an epoch, from its first batch on.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the pass; the caller closes it
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the loader is closed
   */
  public StreamBatches epoch(long epoch) {
    return open(StreamStart.ofEpoch(epoch, shards));
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
    return new BatchPublisher<>(() -> epoch(epoch), StreamBatches::close);
  }

  /**
   * Opens a pass that goes on where this rank stopped: it delivers exactly what was not delivered.
   * The numbers of workers and the batch size may have changed since.
   *
   * @param state what {@link StreamBatches#state} gave on a rank with the same shards
   * @return the pass, over the next epoch if that of the state was finished; the caller closes it
   * @throws io.torchfeed.sampler.ResumeMismatchException if the state is one of other data
   * @throws IllegalArgumentException if the state lacks a shard of this rank
   * @throws IllegalStateException if the loader is closed
   */
  public StreamBatches resume(StreamState state) {
    return resume(List.of(state));
  }

  /**
   * Opens a pass that goes on where ranks stopped, whose number may have been another: together the
   * ranks deliver exactly what was not delivered. Every rank gives the same states.
   *
   * @param states what {@link StreamBatches#state} gave on each rank, in any order
   * @return the pass, over the next epoch if all of the states are finished; the caller closes it
   * @throws io.torchfeed.sampler.ResumeMismatchException if a state is one of other data
   * @throws IllegalArgumentException if the states lack a shard of this rank, have one twice, or
   *     are of different epochs
   * @throws IllegalStateException if the loader is closed
   */
  public StreamBatches resume(List<StreamState> states) {
    return open(StreamStart.of(states, dataset, shards));
  }

  private StreamBatches open(StreamStart start) {
    JavaFeed feed = feeds.take();
    StreamBatches pass;
    try {
      pass = new StreamBatches(this, feed, start);
    } catch (RuntimeException | Error e) {
      feed.close();
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
  void giveBack(StreamBatches pass, JavaFeed feed, long epoch) {
    feeds.giveBack(pass, feed, epoch);
  }

  StreamDataset dataset() {
    return dataset;
  }

  int batchSize() {
    return options.batchRows();
  }

  boolean dropLast() {
    return dropLast;
  }

  int prefetch() {
    return prefetch;
  }

  LoaderMeter meter() {
    return options.meter();
  }

  /**
   * What this loader has delivered so far, where the time went, and what holds it up; as {@link
   * DataLoader#stats}, with samples by their number in {@link Batch#indices}.
   *
   * @return a snapshot, also after the loader is closed
   */
  public LoaderStats stats() {
    return meter().stats(prefetch);
  }

  /**
   * The shards of this rank.
   *
   * @return their numbers, ascending, at least one
   */
  public List<Integer> shards() {
    return shards;
  }

  /**
   * Ends all passes, the worker threads and their memory. Silent the second time; it may come at
   * any moment from any thread, and a pass that is waiting for a batch then throws {@link
   * IllegalStateException}.
   */
  @Override
  public void close() {
    List<StreamBatches> passes = feeds.beginClosing();
    passes.forEach(StreamBatches::interrupt); // all of them, before any is waited for
    passes.forEach(StreamBatches::close);
    feeds.close();
  }
}
