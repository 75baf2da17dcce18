// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The plan of one rank, in batches that may differ in size. Immutable; any number of threads may
 * open cursors.
 */
public interface BatchSampler extends Plan<BatchCursor> {
  /**
   * Returns the number of batches of an epoch, the same on every rank.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the number of batches
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  long batches(long epoch);

  /**
   * Returns the size of the largest batch that may occur, in any epoch.
   *
   * @return number of indices, at least 1
   */
  int maxBatchSize();
}
