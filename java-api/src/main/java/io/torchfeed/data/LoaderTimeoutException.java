// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.time.Duration;

/**
 * A batch that did not come in time. Nothing is lost: the same call may be repeated and goes on
 * waiting.
 */
public final class LoaderTimeoutException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The epoch of the pass. */
  private final long epoch;

  /** The number of the batch in the epoch. */
  private final long batch;

  /** How long the call waited. */
  private final Duration waited;

  LoaderTimeoutException(long epoch, long batch, Duration waited, String workers) {
    super(
        "batch %d of epoch %d did not come within %s; %s".formatted(batch, epoch, waited, workers));
    this.epoch = epoch;
    this.batch = batch;
    this.waited = waited;
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
   * The number of the batch in its epoch.
   *
   * @return the number, from 0 on
   */
  public long batch() {
    return batch;
  }

  /**
   * How long the call waited.
   *
   * @return the timeout
   */
  public Duration waited() {
    return waited;
  }
}
