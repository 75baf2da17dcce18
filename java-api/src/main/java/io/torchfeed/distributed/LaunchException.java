// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import org.jspecify.annotations.Nullable;

/** A rank could not be started or ended with an error; all others have been ended. */
public final class LaunchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** See {@link #rank()}. */
  private final int rank;

  /** See {@link #exitCode()}. */
  private final int exitCode;

  /** See {@link #errorTail()}. */
  private final String errorTail;

  LaunchException(int rank, int exitCode, String errorTail, @Nullable Throwable cause) {
    super(message(rank, exitCode, errorTail, cause), cause);
    this.rank = rank;
    this.exitCode = exitCode;
    this.errorTail = errorTail;
  }

  private static String message(
      int rank, int exitCode, String errorTail, @Nullable Throwable cause) {
    if (cause != null) {
      return "rank " + rank + " could not be started: " + cause.getMessage();
    }
    String how =
        exitCode > 128
            ? "was the first to fail, by signal " + (exitCode - 128)
            : "was the first to fail, with exit code " + exitCode;
    return "rank "
        + rank
        + ' '
        + how
        + (errorTail.isEmpty() ? "" : "; it wrote last:\n" + errorTail);
  }

  /**
   * The rank that failed first.
   *
   * @return in [0, number of ranks)
   */
  public int rank() {
    return rank;
  }

  /**
   * What the rank's process ended with.
   *
   * @return the exit code, 128 plus the signal where one ended it, or -1 if it never started
   */
  public int exitCode() {
    return exitCode;
  }

  /**
   * The end of what the rank wrote to its standard error.
   *
   * @return at most 50 lines; empty for rank 0 where its output was inherited
   */
  public String errorTail() {
    return errorTail;
  }
}
