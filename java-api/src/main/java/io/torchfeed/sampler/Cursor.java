// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * One pass over the indices of one epoch.
 *
 * <p>A cursor may be used by one thread at a time, which cursors over libtorch's samplers check;
 * cursors of one sampler are independent of each other. Only {@link #close} may be called at any
 * time and from any thread; after it, every other method throws {@link IllegalStateException}.
 */
public interface Cursor extends Seekable {
  /**
   * Writes the next dataset indices, int64, each in [0, size of the dataset).
   *
   * <p>Fewer than {@code count} are written only at the end of the epoch, so reading {@code
   * batchSize} at a time yields the batches of the epoch, the short last one included.
   *
   * @param into receives the indices, from element {@code from} on
   * @param from the first element to write
   * @param count maximum number of indices to write, at least 1
   * @return the number of indices written; 0 at the end of the epoch
   * @throws IllegalArgumentException if {@code count} is less than 1
   * @throws IndexOutOfBoundsException if {@code from} and {@code count} do not fit into {@code
   *     into}
   * @throws IllegalStateException if the cursor is closed
   */
  int next(long[] into, int from, int count);

  /**
   * Returns whether the index at a position is padding: the order does not divide evenly among the
   * ranks, so a sample that some rank delivers anyway is delivered once more. An evaluation that
   * leaves out padding counts every sample once.
   *
   * @param position a position of this epoch, in [0, size of the sampler); it need not have been
   *     read
   * @return true for padding
   * @throws IndexOutOfBoundsException if {@code position} is outside that range
   * @throws IllegalStateException if the cursor is closed
   */
  boolean isPadding(long position);
}
