// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import org.jspecify.annotations.Nullable;

/** An error that the user can fix: the message suffices, so no stack trace is printed. */
final class TrainingException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;

  /** See {@link #exitCode}. */
  private final int exitCode;

  TrainingException(String message) {
    this(message, null);
  }

  TrainingException(String message, @Nullable Throwable cause) {
    this(message, cause, FAILED);
  }

  private TrainingException(String message, @Nullable Throwable cause, int exitCode) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  /**
   * Wraps an error in the variables that make this process a rank. As with an invalid option,
   * nothing has been done yet.
   */
  static TrainingException wrongEnvironment(IllegalArgumentException cause) {
    return new TrainingException(String.valueOf(cause.getMessage()), cause, WRONG_USAGE);
  }

  /** Returns the exit status of the program. */
  int exitCode() {
    return exitCode;
  }
}
