// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * Thrown when the thread that waits for a batch is interrupted. Nothing is lost: the thread stays
 * interrupted, and once its interrupt is cleared the same call may be repeated.
 */
public final class LoaderInterruptedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param batch the number of the batch in its epoch
   */
  public LoaderInterruptedException(long batch) {
    super("the thread was interrupted while it waited for batch " + batch);
  }
}
