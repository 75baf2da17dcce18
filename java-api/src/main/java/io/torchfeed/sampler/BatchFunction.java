// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The rule by which a list of indices is cut into batches.
 *
 * <p>It must be a function of its argument alone: every rank asks it about the lists of all ranks
 * and relies on the same answer everywhere. Any number of threads may call it.
 */
@FunctionalInterface
public interface BatchFunction {
  /**
   * The sizes of the batches, which take the indices in their order: the first batch the first
   * {@code sizes[0]} indices, and so on.
   *
   * @param indices the indices of one rank's epoch, at least one; a copy, which may be changed
   * @return the size of each batch, at least 1; their sum is the number of indices
   */
  int[] sizes(long[] indices);
}
