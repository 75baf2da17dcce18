// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * An engine at work: index lists go in, batches come out in the same order, in one pass after
 * another. One thread at a time, except {@link #interrupt} and {@link #close}.
 */
interface Feed extends AutoCloseable {
  /** Gathers into memory that is page-locked for a device; once, before the first pass. */
  void pinFor(String device);

  /** Begins a pass over an epoch; what an earlier one left is dropped. */
  void rewind(long epoch);

  /**
   * Asks for a batch, and takes back the memory of the one at the consumer; at most {@code
   * prefetch} before {@link #start}, and one more than that are ever asked for and not taken.
   *
   * @param batch its number in the epoch
   * @param indices checked dataset indices, at least one; the feed does not change them, and they
   *     do not change before the batch is taken
   */
  void request(long batch, long[] indices);

  /** Sets the workers to what was asked for; once a pass, after the first requests. */
  void start();

  /**
   * Waits for the next batch. The memory of the one before it is taken back.
   *
   * @param batch its number in the epoch
   * @throws SampleException if a sample cannot be made; the batch counts as taken
   * @throws LoaderTimeoutException if it takes too long; the batch does not count as taken
   * @throws IllegalStateException if the batch cannot be made for another reason, or the feed was
   *     interrupted; the batch counts as taken
   */
  Gathered take(long batch);

  /** Whether {@link #take} would not wait for workers; false without workers. */
  boolean isReady();

  /** Makes a running {@link #take} and unfinished work end at once, until {@link #rewind}. */
  void interrupt();

  /** Ends the threads and frees the memory. */
  @Override
  void close();
}
