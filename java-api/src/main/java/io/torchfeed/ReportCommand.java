// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.internal.Quotes;
import io.torchfeed.report.RunReport;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The command {@code report}, which writes a page about a run. */
final class ReportCommand {
  static final String USAGE = "report FOLDER [FILE]";

  private static final String HELP =
      """
      report FOLDER [FILE]: writes a page about the run whose curves, generations and metrics are in a
      folder; by default as FOLDER/report.html
      exit status: 0 done; 1 failed; 2 other arguments""";

  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;

  private ReportCommand() {}

  /**
   * Writes the page.
   *
   * @param args from behind {@code report} on
   * @return the exit status
   */
  static int run(List<String> args, PrintStream out, PrintStream err) {
    if (LaunchCommand.isHelp(args)) {
      out.println(HELP);
      return 0;
    }
    if (args.isEmpty() || args.size() > 2) {
      err.println("error: " + USAGE + " is expected, got " + String.join(" ", args));
      return WRONG_USAGE;
    }
    Path folder = Path.of(args.get(0));
    if (!Files.isDirectory(folder)) {
      err.println("error: " + Quotes.printable(folder.toString()) + " is not a folder");
      return FAILED;
    }
    Path file = args.size() == 2 ? Path.of(args.get(1)) : folder.resolve("report.html");
    try {
      Files.writeString(file, RunReport.read(folder).html(), StandardCharsets.UTF_8);
      out.println(Quotes.printable(file.toString()));
      return 0;
    } catch (IOException e) {
      err.println("error: " + Quotes.printable(e.toString()));
      return FAILED;
    } catch (IllegalArgumentException | UncheckedIOException e) {
      err.println("error: " + Quotes.printable(String.valueOf(e.getMessage())));
      return FAILED;
    }
  }
}
