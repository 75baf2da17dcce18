// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The plan of one rank in batches, which may differ in size. Immutable; any number of threads may
 * open cursors.
 */
public interface BatchSampler {
  /**
   * The number of batches of an epoch: the same on every rank.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the number of batches
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  long batches(long epoch);

  /**
   * The size of the largest batch that may come, in any epoch.
   *
   * @return number of indices, at least 1
   */
  int largestBatch();

  /**
   * Opens a cursor at the first batch of an epoch. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor, independent of all others
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  BatchCursor epoch(long epoch);

  /**
   * What order and batches depend on.
   *
   * @return the parameters; equal ones mean equal batches
   */
  PlanParameters parameters();

  /**
   * The digest of {@link #parameters}.
   *
   * @return 64 hexadecimal digits
   */
  default String digest() {
    return parameters().digest();
  }
}
