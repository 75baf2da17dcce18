// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * One pass over the batches of one epoch.
 *
 * <p>A cursor may be used by one thread at a time; cursors of one plan are independent of each
 * other. Only {@link #close} may be called at any time and from any thread; after it, every other
 * method throws {@link IllegalStateException}.
 */
public interface BatchCursor extends Seekable {
  /**
   * Writes the dataset indices of the next batch, int64, each in [0, size of the dataset).
   *
   * @param into receives the indices, from element {@code from} on; {@link
   *     BatchSampler#maxBatchSize} elements always suffice
   * @param from the first element to write
   * @return the size of the batch; 0 at the end of the epoch
   * @throws IndexOutOfBoundsException if the batch does not fit into {@code into}; the cursor does
   *     not move
   * @throws IllegalStateException if the cursor is closed
   */
  int next(long[] into, int from);

  /**
   * Returns whether an index of a batch is padding, see {@link Cursor#isPadding}.
   *
   * @param batch the number of the batch, in [0, number of batches)
   * @param element the place of the index in that batch, counted from 0
   * @return true for padding
   * @throws IndexOutOfBoundsException if there is no such index
   * @throws IllegalStateException if the cursor is closed
   */
  boolean isPadding(long batch, int element);
}
