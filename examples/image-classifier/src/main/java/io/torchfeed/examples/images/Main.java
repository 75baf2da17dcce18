// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.LoaderWorkerException;
import io.torchfeed.data.SampleException;
import io.torchfeed.distributed.LaunchException;
import io.torchfeed.distributed.PeerLostException;
import java.io.IOException;
import java.io.UncheckedIOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the example. */
@Command(
    name = "image-classifier",
    subcommands = {Train.class, Evaluate.class},
    description = "Trains a small ResNet on folders of images, or evaluates it.")
public final class Main {
  private static final int WRONG_USAGE = CommandLine.ExitCode.USAGE;

  private Main() {}

  /**
   * Runs {@code train} or {@code evaluate} and ends the process: with status 1 after a failure, and
   * 2 after a wrong option.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return new CommandLine(new Main())
        .setExecutionExceptionHandler(
            (failure, command, parsed) -> {
              if (isWrongUse(failure)) {
                command.getErr().println("error: " + failure.getMessage());
                return command.getCommandSpec().exitCodeOnInvalidInput();
              }
              if (isExpected(failure)) {
                command.getErr().println("error: " + failure.getMessage());
              } else {
                failure.printStackTrace(command.getErr());
              }
              return command.getCommandSpec().exitCodeOnExecutionException();
            });
  }

  /** Returns whether an option cannot be used, here or in a rank, which says so by its status. */
  private static boolean isWrongUse(Exception failure) {
    return failure instanceof IllegalArgumentException
        || (failure instanceof LaunchException launch && launch.exitCode() == WRONG_USAGE);
  }

  private static boolean isExpected(Exception failure) {
    return failure instanceof IOException
        || failure instanceof UncheckedIOException
        || failure instanceof LaunchException
        || failure instanceof PeerLostException
        || failure instanceof SampleException
        || failure instanceof LoaderWorkerException;
  }
}
