// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.Objects;

/**
 * Where the batches of an epoch begin and end: consecutive groups of {@code batchSize} indices, the
 * short last group kept or dropped.
 *
 * @param samples number of indices in the epoch, at least 0
 * @param batchSize number of indices in a full batch, at least 1
 * @param lastBatch what becomes of a last batch that is not full
 */
public record Batching(long samples, int batchSize, LastBatch lastBatch) {
  /** What becomes of a last batch that is not full. */
  public enum LastBatch {
    /** It is delivered, smaller than the others. */
    KEEP,
    /** It is left out. */
    DROP
  }

  /**
   * The batches of an epoch.
   *
   * @param samples number of indices in the epoch, at least 0
   * @param batchSize number of indices in a full batch, at least 1
   * @param lastBatch what becomes of a last batch that is not full
   * @throws IllegalArgumentException if {@code samples} or {@code batchSize} is too small
   */
  public Batching {
    requireNonNull(lastBatch, "lastBatch");
    if (samples < 0) {
      throw new IllegalArgumentException("samples must be at least 0, got " + samples);
    }
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
  }

  /**
   * The number of batches in the epoch.
   *
   * @return the number of batches
   */
  public long count() {
    long full = samples / batchSize;
    return lastBatch == LastBatch.KEEP && samples % batchSize != 0 ? full + 1 : full;
  }

  /**
   * The cursor position at which a batch begins.
   *
   * @param batch the number of the batch, in [0, count())
   * @return the position of its first index
   * @throws IndexOutOfBoundsException if there is no such batch
   */
  public long start(long batch) {
    return Objects.checkIndex(batch, count()) * batchSize;
  }

  /**
   * The number of indices in a batch.
   *
   * @param batch the number of the batch, in [0, count())
   * @return its size, in [1, batchSize]
   * @throws IndexOutOfBoundsException if there is no such batch
   */
  public int size(long batch) {
    return (int) Math.min(batchSize, samples - start(batch));
  }
}
