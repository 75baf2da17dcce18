// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.sampler.RankConsistency;
import java.util.List;

/** The source of the passes of a loader: the batches of a sampler, or of the shards of a stream. */
public sealed interface PassSource permits IndexSource, ShardSource {
  /**
   * The starting point of a pass; freed by {@link #close} unless a scheduler has taken ownership.
   */
  interface Start extends AutoCloseable {
    long epoch();

    /** Returns the number of the first batch. */
    long batch();

    /** Creates the scheduler of the pass from this point on. */
    PrefetchScheduler scheduler(BatchEngine engine, int maxInFlight);

    @Override
    void close();
  }

  /**
   * Returns the start of a pass over an epoch.
   *
   * @throws IllegalArgumentException if the epoch or the batch is out of range
   */
  Start at(long epoch, long fromBatch);

  /**
   * Returns the start of a pass that continues where others stopped.
   *
   * @throws io.torchfeed.sampler.ResumeMismatchException if a state belongs to another order or
   *     other data
   * @throws IllegalArgumentException if the states do not fit
   */
  Start at(List<? extends LoaderState> states);

  /** Returns the size of the largest batch that may occur. */
  int maxBatchSize();

  /**
   * Returns the number of batches of an epoch.
   *
   * @throws IllegalStateException if the number is known only once the data is read
   */
  long batches(long epoch);

  /**
   * Checks that all ranks have the same source, each another part of it.
   *
   * @throws IllegalStateException on every rank, if not
   */
  void verifyRanks(long epoch, RankConsistency.AllGather gather);

  /** Returns the kinds of the states, for a message. */
  static List<String> kinds(List<? extends LoaderState> states) {
    return states.stream().map(state -> state.getClass().getSimpleName()).toList();
  }
}
