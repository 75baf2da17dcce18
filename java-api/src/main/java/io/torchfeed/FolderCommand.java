// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.internal.Quotes;
import io.torchfeed.trace.analysis.DumpException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/**
 * A command whose first argument is a folder: its help, its usage, the check of the folder, and
 * each failure in one line.
 *
 * @param usage the arguments
 * @param help the text for {@code --help}
 */
record FolderCommand(String usage, String help) {
  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;

  /**
   * Runs the command.
   *
   * @param args from behind its name on
   * @param fits whether they are its arguments
   * @param action receives the folder; the messages of its exceptions name the failure
   * @return the exit status
   */
  int run(
      List<String> args, boolean fits, PrintStream out, PrintStream err, Consumer<Path> action) {
    if (LaunchCommand.isHelp(args)) {
      out.println(help);
      return 0;
    }
    if (!fits) {
      String given = Quotes.printable(String.join(" ", args));
      err.println("error: " + usage + " is expected, got " + given);
      return WRONG_USAGE;
    }
    try {
      Path folder = Path.of(args.get(0));
      if (!Files.isDirectory(folder)) {
        throw new IllegalArgumentException(folder + " is not a folder");
      }
      action.accept(folder);
      return 0;
    } catch (IllegalArgumentException | UncheckedIOException | DumpException e) {
      err.println("error: " + Quotes.printable(String.valueOf(e.getMessage())));
      return FAILED;
    }
  }
}
