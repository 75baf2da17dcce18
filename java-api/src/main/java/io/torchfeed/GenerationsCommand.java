// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.elastic.Generation;
import io.torchfeed.elastic.Generations;
import io.torchfeed.internal.Quotes;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;

/** The command {@code generations}, which lists the generations of a job. */
final class GenerationsCommand {
  static final String USAGE = "generations FOLDER";

  private static final String HELP =
      """
      generations FOLDER: lists the generations that an elastic job has noted in a folder
      exit status: 0 done; 1 failed; 2 other arguments""";

  private static final String ROW = "%-10s %10s %6s %6s %10s  %-10s %-20s %s%n";

  private GenerationsCommand() {}

  /**
   * Prints a line for each generation.
   *
   * @param args from behind {@code generations} on
   * @return the exit status
   */
  static int run(List<String> args, PrintStream out, PrintStream err) {
    return new FolderCommand(USAGE, HELP)
        .run(args, args.size() == 1, out, err, folder -> print(folder, out));
  }

  private static void print(Path folder, PrintStream out) {
    try (Generations generations = Generations.open(folder, 1)) {
      List<Generation> all = generations.all();
      out.printf(ROW, "generation", "step", "ranks", "epoch", "samples", "from", "began", "state");
      for (Generation each : all) {
        out.printf(
            ROW,
            each.name(),
            each.step(),
            each.ranks(),
            each.epoch(),
            each.samples(),
            each.origin().name().toLowerCase(Locale.ROOT),
            each.began().truncatedTo(ChronoUnit.SECONDS),
            each.state().map(Path::toString).map(Quotes::printable).orElse("-"));
      }
    }
  }
}
