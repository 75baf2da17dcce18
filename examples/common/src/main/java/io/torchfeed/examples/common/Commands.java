// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Command lines of the examples: their help, and how they report errors. */
public final class Commands {
  private Commands() {}

  /**
   * Returns the command line of a command whose errors are all bugs, but for {@link
   * CommandException}; see {@link #of(Object, List, List)}.
   *
   * @param command has picocli's annotations
   * @return the command line
   */
  public static CommandLine of(Object command) {
    return of(command, List.of(), List.of());
  }

  /**
   * Returns the command line of a command. It lists options in the order of their declaration, has
   * {@code --help}, and takes values of enums in any case. An error that the user can fix is
   * reported in one line, another with its stack trace; the exit status is 2 after wrong use, and 1
   * after any other failure.
   *
   * @param command has picocli's annotations, as have its subcommands
   * @param wrongUse exceptions that are wrong use, in addition to a {@link CommandException} that
   *     is
   * @param expected exceptions whose message suffices, in addition to {@link CommandException}
   * @return the command line
   */
  public static CommandLine of(
      Object command,
      List<Class<? extends Exception>> wrongUse,
      List<Class<? extends Exception>> expected) {
    CommandLine line = new CommandLine(command);
    complete(line.getCommandSpec());
    return line.setCaseInsensitiveEnumValuesAllowed(true)
        .setParameterExceptionHandler((wrong, arguments) -> wrongUse(wrong.getCommandLine(), wrong))
        .setExecutionExceptionHandler(
            (failure, failed, parsed) -> {
              if (isOneOf(wrongUse, failure) || isWrongUse(failure)) {
                return wrongUse(failed, failure);
              }
              if (failure instanceof CommandException || isOneOf(expected, failure)) {
                failed.getErr().println("error: " + failure.getMessage());
              } else {
                failure.printStackTrace(failed.getErr());
              }
              return CommandLine.ExitCode.SOFTWARE;
            });
  }

  private static void complete(CommandSpec command) {
    command.usageMessage().sortOptions(false).autoWidth(true);
    command.addOption(
        OptionSpec.builder("-h", "--help")
            .usageHelp(true)
            .description("Show this help and exit.")
            .build());
    command.subcommands().values().forEach(each -> complete(each.getCommandSpec()));
  }

  private static int wrongUse(CommandLine command, Exception failure) {
    command
        .getErr()
        .printf(
            "error: %s (%s --help lists the options)%n",
            failure.getMessage(), command.getCommandName());
    return CommandLine.ExitCode.USAGE;
  }

  private static boolean isWrongUse(Exception failure) {
    return failure instanceof CommandException known && known.isWrongUse();
  }

  private static boolean isOneOf(List<Class<? extends Exception>> classes, Exception failure) {
    return classes.stream().anyMatch(each -> each.isInstance(failure));
  }
}
