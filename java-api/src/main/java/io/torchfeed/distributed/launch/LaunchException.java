// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a rank could not be started or failed, or its output could not be forwarded. All
 * ranks have been terminated by then.
 */
public final class LaunchException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int NO_EXIT_CODE = -1;

  /** See {@link #rank()}. */
  private final int rank;

  /** See {@link #exitCode()}. */
  private final int exitCode;

  /** See {@link #errorTail()}. */
  private final String errorTail;

  private LaunchException(
      String message, int rank, int exitCode, String errorTail, @Nullable Throwable cause) {
    super(message, cause);
    this.rank = rank;
    this.exitCode = exitCode;
    this.errorTail = errorTail;
  }

  static LaunchException notStarted(int rank, Throwable cause) {
    String message = "rank " + rank + " could not be started: " + cause.getMessage();
    return new LaunchException(message, rank, NO_EXIT_CODE, "", cause);
  }

  /**
   * Returns the failure of a launch for which there is too little memory.
   *
   * @param fitting the number of ranks for which it suffices
   */
  static LaunchException tooLittleMemory(int ranks, long each, long available, int fitting) {
    String message =
        ("%d ranks need at least %d MiB of memory, %d MiB for each, and %d MiB are available; "
                + "start at most %d, end other programs, or set oversubscribe")
            .formatted(ranks, (ranks * each) >> 20, each >> 20, available >> 20, fitting);
    return new LaunchException(message, fitting, NO_EXIT_CODE, "", null);
  }

  static LaunchException outputLost(int rank, Throwable cause) {
    String message = "the output of rank " + rank + " could not be forwarded: " + cause;
    return new LaunchException(message, rank, NO_EXIT_CODE, "", cause);
  }

  static LaunchException failed(int rank, int exitCode, String errorTail) {
    String how =
        exitCode > 128
            ? "was the first to fail, by signal " + (exitCode - 128)
            : "was the first to fail, with exit code " + exitCode;
    String tail = errorTail.isEmpty() ? "" : "; the end of its standard error:\n" + errorTail;
    return new LaunchException("rank " + rank + ' ' + how + tail, rank, exitCode, errorTail, null);
  }

  /**
   * Returns the rank that failed first.
   *
   * @return in [0, number of ranks)
   */
  public int rank() {
    return rank;
  }

  /**
   * Returns the exit code of the rank's process.
   *
   * @return the exit code, 128 plus the signal number if a signal ended the process, or -1 if it
   *     never started or its output could not be forwarded
   */
  public int exitCode() {
    return exitCode;
  }

  /**
   * Returns the end of the rank's standard error.
   *
   * @return at most 50 lines; empty for rank 0 if its output was inherited
   */
  public String errorTail() {
    return errorTail;
  }
}
