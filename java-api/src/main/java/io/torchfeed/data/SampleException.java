// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.jspecify.annotations.Nullable;

/**
 * A sample that could not be loaded; its cause is what the dataset threw, if it did. It reaches the
 * consumer at the batch that would have held the sample; the pass goes on with the batch after it.
 */
public final class SampleException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The index that the sampler delivered. */
  private final long index;

  /** The epoch of the pass. */
  private final long epoch;

  /** The number of the batch in the epoch. */
  private final long batch;

  SampleException(long index, long epoch, long batch, String problem) {
    this(index, epoch, batch, problem, null);
  }

  SampleException(long index, long epoch, long batch, Throwable cause) {
    this(index, epoch, batch, cause.toString(), cause);
  }

  SampleException(long index, long epoch, long batch, String problem, @Nullable Throwable cause) {
    super("sample %d of epoch %d, batch %d: %s".formatted(index, epoch, batch, problem), cause);
    this.index = index;
    this.epoch = epoch;
    this.batch = batch;
  }

  /**
   * The index of the sample in the dataset.
   *
   * @return the index that the sampler delivered
   */
  public long index() {
    return index;
  }

  /**
   * The epoch of the pass.
   *
   * @return the epoch
   */
  public long epoch() {
    return epoch;
  }

  /**
   * The number of the batch in the epoch.
   *
   * @return the number of the batch, from 0 on
   */
  public long batch() {
    return batch;
  }
}
