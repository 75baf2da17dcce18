// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.internal.Quotes;
import io.torchfeed.trace.analysis.TraceReport;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The command {@code trace}, which merges the dumps of all ranks. */
final class TraceCommand {
  static final String USAGE = "trace FOLDER [--perfetto FILE] [--flight-recorder FOLDER]";

  private static final String HELP =
      """
      trace FOLDER: merges the dumps of all ranks in a folder, and prints who waited for whom, and
          which rank has not entered a call
        --perfetto FILE           the timeline, for https://ui.perfetto.dev;
                                  FOLDER/trace.perfetto-trace if it is not given
        --flight-recorder FOLDER  also writes the calls for PyTorch's torchfrtrace
      exit status: 0 done; 1 failed; 2 other arguments""";

  private TraceCommand() {}

  /**
   * Merges dumps.
   *
   * @param args from behind {@code trace} on
   * @return the exit status
   */
  static int run(List<String> args, PrintStream out, PrintStream err) {
    @Nullable String timeline = null;
    @Nullable String recorder = null;
    boolean isRight = args.size() % 2 == 1 && !args.get(0).startsWith("-");
    for (int i = 1; i + 1 < args.size(); i += 2) {
      switch (args.get(i)) {
        case "--perfetto" -> timeline = args.get(i + 1);
        case "--flight-recorder" -> recorder = args.get(i + 1);
        default -> isRight = false;
      }
    }
    @Nullable String perfetto = timeline;
    @Nullable Path calls = recorder == null ? null : Path.of(recorder);
    return new FolderCommand(USAGE, HELP)
        .run(
            args,
            isRight,
            out,
            err,
            folder -> {
              Path file =
                  perfetto == null ? folder.resolve("trace.perfetto-trace") : Path.of(perfetto);
              merge(folder, file, calls, out);
            });
  }

  private static void merge(Path folder, Path timeline, @Nullable Path recorder, PrintStream out) {
    TraceReport report = TraceReport.of(folder);
    report.print(out);
    report.writePerfetto(timeline);
    out.println();
    out.println("timeline: " + Quotes.printable(timeline.toString()));
    if (recorder != null) {
      int files = report.writeFlightRecorder(recorder);
      out.printf("flight recorder: %d files in %s%n", files, Quotes.printable(recorder.toString()));
    }
  }
}
