// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.engine.LoadedBatch;

/**
 * A scheduler that requests the batches of one pass from its engine, ahead of the consumer, and
 * records deliveries. One thread at a time requests and delivers; {@link #position}, {@link
 * #state}, {@link #stateAt} and {@link #isPadding} may be called by any thread, even while another
 * one waits for a batch.
 */
interface PrefetchScheduler extends AutoCloseable {
  /** Requests batches until this many are in flight. */
  void requestUpTo(int inFlight);

  /**
   * Returns whether no batch is left to deliver. Waits where that is known only from the data.
   *
   * @param prefetch the number of batches to keep in flight while waiting
   * @throws RuntimeException as {@link io.torchfeed.data.engine.BatchEngine#take}
   */
  boolean isOver(int prefetch);

  /**
   * Returns the reason why no batch is left: the message of the exception for a consumer that
   * requests one.
   */
  String end();

  /**
   * Throws the failure that prevents the next batch from being requested, if it is unknown to the
   * engine.
   *
   * @throws RuntimeException the failure
   */
  void throwIfDue();

  /** Returns the number of the next batch. */
  long due();

  /**
   * Notes in a batch which samples it holds. It is not delivered yet; if this throws, nothing has
   * changed, and the call can be repeated.
   *
   * @param loaded a batch with rows
   */
  void identify(LoadedBatch loaded);

  /**
   * Notes that a batch, or its failure, is delivered, unless it turned out to have no samples.
   * Allocates nothing.
   */
  void deliver(LoadedBatch loaded);

  /** Notes that a batch has ended. */
  void release(LoadedBatch batch);

  /** Returns the number of batches of the epoch before the first one that is not delivered. */
  long position();

  /**
   * Returns the consumer's progress.
   *
   * @param isEndReported whether the consumer knows that no batch is left
   */
  LoaderState state(boolean isEndReported);

  /**
   * Returns an earlier progress of the consumer.
   *
   * @param position of {@link #position} at that time
   * @throws IllegalArgumentException if it was none of this pass
   * @throws IllegalStateException if the batches have no fixed order
   */
  LoaderState stateAt(long position);

  /** Returns whether a sample is padding. */
  boolean isPadding(long batch, int element);

  /** Returns the time that the order has taken so far, in nanoseconds. */
  long samplingNanos();

  /** Notes that no batch is left; frees the cursor of the order until it is needed again. */
  void finish();

  /** Frees the cursor of the order. */
  @Override
  void close();
}
