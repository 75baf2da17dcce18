// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * An engine at work: index lists go in, batches come out, in one pass after another. One thread at
 * a time, except {@link #interrupt} and {@link #close}.
 */
interface Feed extends AutoCloseable {
  /** Gathers into memory that is page-locked for a device; once, before the first pass. */
  void pinFor(String device);

  /**
   * Begins a pass over an epoch; what an earlier one left is dropped.
   *
   * @return false if threads of the earlier one do not come back in time: then the feed is of no
   *     more use, but to be closed
   */
  boolean rewind(long epoch);

  /**
   * Asks for a batch, and takes back the memory of the one at the consumer; at most {@code
   * prefetch} before {@link #start}, and one more than that are ever asked for and not taken.
   *
   * @param batch its number in the epoch
   * @param indices begins with checked dataset indices; the feed does not change them, and they do
   *     not change before the batch is taken
   * @param size how many there are, at least one
   */
  void request(long batch, long[] indices, int size);

  /** Sets the workers to what was asked for; once a pass, after the first requests. */
  void start();

  /**
   * Waits for the next batch: the one that was asked for first or, if the feed does not keep the
   * order, any. The memory of the one before it is taken back.
   *
   * @param due the number of the batch that was asked for first
   * @return a batch, or why there is none
   * @throws LoaderTimeoutException if it takes too long; no batch was taken
   * @throws IllegalStateException if the feed was interrupted
   */
  Gathered take(long due);

  /** How many batches are ready to be taken; 0 without workers. */
  int ready();

  /** Whether {@link #take} would not wait for workers; false without workers. */
  boolean isReady();

  /** The memory that one batch takes. */
  long slabBytes();

  /**
   * Makes a running {@link #take} and unfinished work end at once, until {@link #rewind}. Threads
   * have from then on until they are given up.
   */
  void interrupt();

  /** Ends the threads and frees the memory. */
  @Override
  void close();
}
