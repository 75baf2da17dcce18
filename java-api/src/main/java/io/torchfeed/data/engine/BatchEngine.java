// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchRequest;

/**
 * A running engine: it takes requests and returns batches, in one pass after another. Used by one
 * thread at a time, except {@link #interrupt} and {@link #close}.
 */
public interface BatchEngine extends AutoCloseable {
  /** The number that stands for no request. */
  long NO_REQUEST = -1;

  /**
   * Makes the engine load into memory that is page-locked for a device. Called once, before the
   * first pass.
   *
   * @param once whether memory is used for one batch only and then freed, since the consumer starts
   *     copies known only to libtorch's allocator
   */
  void pinFor(String device, boolean once);

  /**
   * Begins a pass over an epoch; whatever an earlier pass left is dropped.
   *
   * @return false if threads of the earlier pass do not return in time; the engine can then only be
   *     closed
   */
  boolean rewind(long epoch);

  /**
   * Requests a batch. The memory of the batch that the consumer holds may be taken back. At most
   * {@code prefetch} batches are requested before {@link #start}, and at most one more than that
   * are ever requested and not yet taken.
   *
   * @param request the batch to load; not modified before the batch is taken
   */
  void request(BatchRequest request);

  /** Starts any missing workers. Called once per pass, after the first requests. */
  void start();

  /**
   * Waits for the next batch: the one that was requested first or, if the engine does not keep the
   * order, any. The memory of the previous batch is taken back. If this method throws, no batch was
   * taken, and the call can be repeated: a failure of a single batch is reported as {@link
   * LoadedBatch#failure}.
   *
   * @param due the number of the batch that was requested first, for messages
   * @return a batch, or the reason why there is none
   * @throws io.torchfeed.data.LoaderTimeoutException if it takes too long
   * @throws io.torchfeed.data.LoaderInterruptedException if the thread is interrupted while it
   *     waits
   * @throws io.torchfeed.data.LoaderWorkerException if a worker died without a batch
   * @throws IllegalStateException if the engine was interrupted
   */
  LoadedBatch take(long due);

  /**
   * Waits for the next batch without taking it, and drops it if its request turned out to be for
   * nothing.
   *
   * @param due the number of the batch, for messages
   * @return the number of the request that was dropped; {@link #NO_REQUEST} if the next batch is to
   *     be taken
   * @throws RuntimeException as {@link #take}
   */
  long dropIfNothing(long due);

  /** Returns the number of batches that are ready to be taken; 0 without workers. */
  int ready();

  /**
   * Returns whether {@link #take} would return a batch without waiting for workers; false without
   * workers, and if no batch is requested and not yet taken.
   */
  boolean isReady();

  /** Returns the memory that one batch takes, in bytes. */
  long slabBytes();

  /**
   * Ends a running {@link #take} and unfinished work at once, until {@link #rewind}. From this call
   * on, threads have a limited time before they are abandoned.
   */
  void interrupt();

  /** Ends the threads and frees the memory. */
  @Override
  void close();
}
