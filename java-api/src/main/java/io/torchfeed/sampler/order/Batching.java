// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.Checks;

/**
 * The division of an epoch into batches: consecutive groups of {@code batchSize} indices, the short
 * last group kept or dropped.
 *
 * @param samples number of indices in the epoch, at least 0
 * @param batchSize number of indices in a full batch, at least 1
 * @param dropLast whether a last batch that is not full is left out
 */
record Batching(long samples, int batchSize, boolean dropLast) {
  /**
   * Creates the batches of an epoch.
   *
   * @param samples number of indices in the epoch, at least 0
   * @param batchSize number of indices in a full batch, at least 1
   * @param dropLast whether a last batch that is not full is left out
   * @throws IllegalArgumentException if {@code samples} or {@code batchSize} is too small
   */
  Batching {
    if (samples < 0) {
      throw new IllegalArgumentException("samples must be at least 0, got " + samples);
    }
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
  }

  /**
   * Returns the number of batches in the epoch.
   *
   * @return the number of batches
   */
  long count() {
    long full = samples / batchSize;
    return !dropLast && samples % batchSize != 0 ? full + 1 : full;
  }

  /** Returns the division of another number of indices by the same rule. */
  Batching of(long otherSamples) {
    return new Batching(otherSamples, batchSize, dropLast);
  }

  /**
   * Returns the cursor position at which a batch begins.
   *
   * @param batch the number of the batch, in [0, count())
   * @return the position of its first index
   * @throws IndexOutOfBoundsException if there is no such batch
   */
  long start(long batch) {
    return Checks.requireIndex("batch", batch, count()) * batchSize;
  }

  /**
   * Returns the number of indices in a batch.
   *
   * @param batch the number of the batch, in [0, count())
   * @return its size, in [1, batchSize]
   * @throws IndexOutOfBoundsException if there is no such batch
   */
  int size(long batch) {
    return (int) Math.min(batchSize, samples - start(batch));
  }
}
