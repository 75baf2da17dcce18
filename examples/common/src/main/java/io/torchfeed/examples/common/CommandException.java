// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import io.torchfeed.distributed.launch.LaunchException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;

/** An error that the user can fix: the message suffices, so no stack trace is printed. */
public final class CommandException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final boolean isWrongUse;

  /**
   * Creates a failure that is no wrong use.
   *
   * @param message a sentence for the user
   */
  public CommandException(String message) {
    this(message, null);
  }

  /**
   * Creates a failure that is no wrong use.
   *
   * @param message a sentence for the user
   * @param cause the failure, or null
   */
  public CommandException(String message, @Nullable Throwable cause) {
    this(message, cause, false);
  }

  private CommandException(String message, @Nullable Throwable cause, boolean isWrongUse) {
    super(message, cause);
    this.isWrongUse = isWrongUse;
  }

  /**
   * Returns an error in the variables that make this process a rank. As with an invalid option,
   * nothing has been done yet.
   *
   * @param cause names the variable
   * @return the error
   */
  public static CommandException wrongEnvironment(IllegalArgumentException cause) {
    return wrongUse(String.valueOf(cause.getMessage()), cause);
  }

  /**
   * Returns an error in the user's arguments: an option, or a file or folder that it names.
   *
   * @param message a sentence for the user
   * @return the error
   */
  public static CommandException wrongUse(String message) {
    return wrongUse(message, null);
  }

  /**
   * Returns an error in the user's arguments, as {@link #wrongUse(String)} does.
   *
   * @param message a sentence for the user
   * @param cause the failure, or null
   * @return the error
   */
  public static CommandException wrongUse(String message, @Nullable Throwable cause) {
    return new CommandException(message, cause, true);
  }

  /**
   * Returns the failure of a launch; a rank that was used wrongly has said so by its status.
   *
   * @param cause the failure
   * @return the error
   */
  public static CommandException ofLaunch(LaunchException cause) {
    String message = String.valueOf(cause.getMessage());
    return cause.exitCode() == CommandLine.ExitCode.USAGE
        ? wrongUse(message, cause)
        : new CommandException(message, cause);
  }

  /**
   * Returns whether the user's arguments are to blame.
   *
   * @return false after another failure
   */
  public boolean isWrongUse() {
    return isWrongUse;
  }
}
