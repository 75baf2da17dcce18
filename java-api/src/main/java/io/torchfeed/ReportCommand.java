// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.internal.Failures;
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

  private ReportCommand() {}

  /**
   * Writes the page.
   *
   * @param args from behind {@code report} on
   * @return the exit status
   */
  static int run(List<String> args, PrintStream out, PrintStream err) {
    boolean fits = args.size() == 1 || args.size() == 2;
    return new FolderCommand(USAGE, HELP)
        .run(
            args,
            fits,
            out,
            err,
            folder -> {
              Path file = args.size() == 2 ? Path.of(args.get(1)) : folder.resolve("report.html");
              write(file, page(folder));
              out.println(Quotes.printable(file.toString()));
            });
  }

  private static String page(Path folder) {
    try {
      return RunReport.read(folder).html();
    } catch (IOException | UncheckedIOException e) {
      throw failed("cannot read the run in " + folder, e);
    }
  }

  private static void write(Path file, String page) {
    try {
      Files.writeString(file, page, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw failed("cannot write " + file, e);
    }
  }

  private static IllegalArgumentException failed(String what, Exception cause) {
    return new IllegalArgumentException(what + ": " + Failures.reason(cause), cause);
  }
}
