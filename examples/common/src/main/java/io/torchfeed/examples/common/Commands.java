// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.util.List;
import picocli.CommandLine;

/** Error reports that the command lines of the examples share. */
public final class Commands {
  private Commands() {}

  /**
   * Lets a command report errors that the user can fix in one line, others with their stack trace,
   * and exit with status 2 after wrong use and 1 after other failures.
   *
   * @param command the command
   * @param wrongUse exceptions that are wrong use, besides a {@link CommandException} that is
   * @param expected exceptions whose message suffices, besides {@link CommandException}
   * @return the command
   */
  public static CommandLine reporting(
      CommandLine command,
      List<Class<? extends Exception>> wrongUse,
      List<Class<? extends Exception>> expected) {
    return command
        .setParameterExceptionHandler(
            (wrong, arguments) -> {
              CommandLine failed = wrong.getCommandLine();
              failed.getErr().println("error: " + wrong.getMessage());
              failed.getErr().println(failed.getCommandName() + " --help lists the options.");
              return CommandException.WRONG_USE;
            })
        .setExecutionExceptionHandler(
            (failure, failed, parsed) -> {
              boolean isWrongUse = isOneOf(wrongUse, failure);
              if (isWrongUse || failure instanceof CommandException || isOneOf(expected, failure)) {
                failed.getErr().println("error: " + failure.getMessage());
              } else {
                failure.printStackTrace(failed.getErr());
              }
              if (failure instanceof CommandException known) {
                return known.exitCode();
              }
              return isWrongUse ? CommandException.WRONG_USE : CommandException.FAILED;
            });
  }

  private static boolean isOneOf(List<Class<? extends Exception>> classes, Exception failure) {
    return classes.stream().anyMatch(each -> each.isInstance(failure));
  }
}
