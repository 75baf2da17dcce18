// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The plan of one rank: which dataset indices it sees in each epoch, and in what order.
 *
 * <p>A sampler is immutable, and the order is a function of the plan and the epoch alone. Any
 * number of threads may open cursors.
 */
public interface Sampler {
  /**
   * The number of indices that one epoch delivers to this rank.
   *
   * @return the number of indices, the same in every epoch
   */
  long size();

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor, independent of all others
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the order needs more memory than the machine has now
   */
  Cursor epoch(long epoch);

  /**
   * What the order depends on: the kind of plan and its parameters by name.
   *
   * @return the parameters; equal ones mean equal orders
   */
  PlanParameters parameters();

  /**
   * The digest of {@link #parameters}: a checkpoint keeps it, to be compared when it is resumed.
   *
   * @return 64 hexadecimal digits
   */
  default String digest() {
    return parameters().digest();
  }
}
