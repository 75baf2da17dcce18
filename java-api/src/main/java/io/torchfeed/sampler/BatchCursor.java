// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * One pass over the batches of one epoch.
 *
 * <p>A cursor serves one thread at a time; cursors of one plan do not disturb each other. {@link
 * #close} alone may come at any moment from any thread. After it every other method throws {@link
 * IllegalStateException}.
 */
public interface BatchCursor extends AutoCloseable {
  /**
   * Writes the dataset indices of the next batch, int64, each in [0, size of the dataset).
   *
   * @param into receives the indices, from element {@code from} on; {@link
   *     BatchSampler#largestBatch} elements always suffice
   * @param from the first element to write
   * @return the size of the batch; 0 when the epoch is over
   * @throws IndexOutOfBoundsException if the batch does not fit {@code into}; the cursor stays
   *     where it was
   * @throws IllegalStateException if the cursor is closed
   */
  int next(long[] into, int from);

  /**
   * The number of batches that lie before the next one.
   *
   * @return the position, in batches
   * @throws IllegalStateException if the cursor is closed
   */
  long position();

  /**
   * Goes to a batch, forward or backward.
   *
   * @param position the new position in batches, in [0, number of batches]
   * @throws IllegalArgumentException if {@code position} is outside of that range
   * @throws IllegalStateException if the cursor is closed
   */
  void seek(long position);

  /**
   * The number of batches that are still to come.
   *
   * @return the number of batches of the epoch less the position
   * @throws IllegalStateException if the cursor is closed
   */
  long remaining();

  /**
   * Whether an index of a batch only fills up, see {@link Cursor#isPadding}.
   *
   * @param batch the number of the batch, in [0, number of batches)
   * @param element which index of that batch, from 0 on
   * @return true for padding
   * @throws IndexOutOfBoundsException if there is no such index
   * @throws IllegalStateException if the cursor is closed
   */
  boolean isPadding(long batch, int element);

  /**
   * How much of the plan lies before a batch, in the unit in which its {@link Segment segments}
   * count: batches, unless the plan says otherwise.
   *
   * @param position a position of this cursor, in batches
   * @return the deliveries of this rank up to there
   */
  default long delivered(long position) {
    return position;
  }

  /** Frees the cursor. Silent the second time. */
  @Override
  void close();
}
