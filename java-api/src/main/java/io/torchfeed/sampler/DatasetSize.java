// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;

/**
 * The size of the datasets to which the indices of a plan belong. A loader refuses a smaller
 * dataset when it is built, before an index is missed in the middle of an epoch.
 *
 * @param samples the number of samples that a dataset has at least; 0 if it is not known
 * @param isExact whether the plan was made for datasets of just this size, so that a loader warns
 *     of a larger one; false for a list of indices, which is a subset by design
 */
public record DatasetSize(long samples, boolean isExact) {
  /**
   * Creates a size.
   *
   * @param samples the number of samples that a dataset has at least
   * @param isExact whether the plan was made for datasets of just this size
   * @throws IllegalArgumentException if {@code samples} is negative
   */
  public DatasetSize {
    Checks.requireAtLeastZero("samples", samples);
  }

  /**
   * Returns the size of which nothing is known.
   *
   * @return at least 0 samples
   */
  public static DatasetSize unknown() {
    return new DatasetSize(0, false);
  }

  /**
   * Returns the size of the dataset for which a plan was made.
   *
   * @param samples its number of samples, at least 0
   * @return the size
   * @throws IllegalArgumentException if {@code samples} is negative
   */
  public static DatasetSize of(long samples) {
    return new DatasetSize(samples, true);
  }

  /**
   * Returns the size that contains a list of indices.
   *
   * @param indices dataset indices, each at least 0
   * @return at least one more than the largest index; 0 without indices
   * @throws IllegalArgumentException if an index is negative
   */
  public static DatasetSize containing(long... indices) {
    requireNonNull(indices, "indices");
    long samples = 0;
    for (long index : indices) {
      long before = Checks.requireAtLeastZero("an index", index);
      samples = Math.max(samples, before == Long.MAX_VALUE ? before : before + 1);
    }
    return new DatasetSize(samples, false);
  }
}
