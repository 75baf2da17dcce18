// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * Thrown when a batch is not ready in time. Nothing is lost: the same call may be repeated and
 * continues to wait.
 */
public final class LoaderTimeoutException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The epoch of the pass. */
  private final long epoch;

  /** The number of the batch in the epoch. */
  private final long batch;

  /** The time that the call waited. */
  private final Duration waited;

  /**
   * Creates an exception.
   *
   * @param epoch the epoch of the pass
   * @param batch the number of the batch in its epoch
   * @param waited the time that the call waited
   * @param workers a description of each worker's state
   */
  public LoaderTimeoutException(long epoch, long batch, Duration waited, String workers) {
    super(
        "batch %d of epoch %d was not ready within %s; %s"
            .formatted(
                batch,
                epoch,
                requireNonNull(waited, "waited"),
                requireNonNull(workers, "workers")));
    this.epoch = epoch;
    this.batch = batch;
    this.waited = waited;
  }

  /**
   * Returns the epoch of the pass.
   *
   * @return the epoch
   */
  public long epoch() {
    return epoch;
  }

  /**
   * Returns the number of the batch in its epoch.
   *
   * @return the number, starting at 0
   */
  public long batch() {
    return batch;
  }

  /**
   * Returns the time that the call waited: the timeout of the loader.
   *
   * @return the timeout
   */
  public Duration waited() {
    return waited;
  }
}
