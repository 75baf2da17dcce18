// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.LaunchException;
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
    return wrongUse(String.valueOf(cause.getMessage()), cause);
  }

  /** Returns an error in what the user passed: an option, or a file or folder that it names. */
  static TrainingException wrongUse(String message, @Nullable Throwable cause) {
    return new TrainingException(message, cause, WRONG_USAGE);
  }

  /** Returns the failure of a launch; a rank that was used wrongly has said so by its status. */
  static TrainingException ofLaunch(LaunchException cause) {
    String message = String.valueOf(cause.getMessage());
    return cause.exitCode() == WRONG_USAGE
        ? wrongUse(message, cause)
        : new TrainingException(message, cause);
  }

  /** Returns the exit status of the program. */
  int exitCode() {
    return exitCode;
  }
}
