// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a worker thread of a loader died; its cause, if known, ended the thread, for example
 * an {@link OutOfMemoryError}. Another worker takes its place, and the pass can continue: if the
 * worker was filling a batch, only that batch is lost, otherwise nothing.
 */
public final class LoaderWorkerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The number of the worker. */
  private final int worker;

  /**
   * Creates the exception for the death of a worker.
   *
   * @param worker the number of the worker
   * @param doing its activity, for the message, for example "while waiting"
   * @param cause the reason for its death, if known
   */
  public LoaderWorkerException(int worker, String doing, @Nullable Throwable cause) {
    super(
        "worker %d of the loader died %s: %s; another takes its place"
            .formatted(
                worker,
                requireNonNull(doing, "doing"),
                cause == null ? "its thread was terminated externally" : Failures.describe(cause)),
        cause);
    this.worker = worker;
  }

  /**
   * Returns the number of the worker that died.
   *
   * @return the number that was passed to its hooks
   */
  public int worker() {
    return worker;
  }
}
