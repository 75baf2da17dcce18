// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * One pass over the indices of one epoch.
 *
 * <p>A cursor serves one thread at a time; cursors of one sampler do not disturb each other. {@link
 * #close} alone may come at any moment from any thread. After it every other method throws {@link
 * IllegalStateException}.
 */
public interface Cursor extends AutoCloseable {
  /**
   * Writes the next dataset indices, int64, each in [0, size of the dataset).
   *
   * <p>Fewer than {@code count} are written only where the epoch ends, so reading {@code batchSize}
   * at a time yields the batches of the epoch, the short last one included.
   *
   * @param into receives the indices, from element {@code from} on
   * @param from the first element to write
   * @param count how many to write at most, at least 1
   * @return how many were written; 0 when the epoch is over
   * @throws IllegalArgumentException if {@code count} is less than 1
   * @throws IndexOutOfBoundsException if {@code from} and {@code count} do not fit {@code into}
   * @throws IllegalStateException if the cursor is closed
   */
  int next(long[] into, int from, int count);

  /**
   * The number of indices that lie before the next one.
   *
   * @return the position, in [0, size of the sampler]
   * @throws IllegalStateException if the cursor is closed
   */
  long position();

  /**
   * Goes to a position, forward or backward; what follows is what a cursor would deliver that had
   * read up to there.
   *
   * @param position the new position, in [0, size of the sampler]
   * @throws IllegalArgumentException if {@code position} is outside of that range
   * @throws IllegalStateException if the cursor is closed
   */
  void seek(long position);

  /**
   * The number of indices that are still to come.
   *
   * @return the size of the sampler less the position
   * @throws IllegalStateException if the cursor is closed
   */
  long remaining();

  /**
   * Whether the index at a position only fills up: the ranks do not divide the order, so a sample
   * that some rank has anyway is delivered once more. An evaluation that leaves these out counts
   * every sample once.
   *
   * @param position a position of this epoch, in [0, size of the sampler); it need not have been
   *     read
   * @return true for padding
   * @throws IndexOutOfBoundsException if {@code position} is outside of that range
   * @throws IllegalStateException if the cursor is closed
   */
  boolean isPadding(long position);

  /**
   * Frees the cursor. Silent the second time; a call that is running in another thread ends well.
   */
  @Override
  void close();
}
