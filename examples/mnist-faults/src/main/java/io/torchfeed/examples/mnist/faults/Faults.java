// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.mnist.MnistFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command line of the campaign. */
@Command(
    name = "faults",
    description = {
      "Trains MNIST with 2 to 4 processes that are killed, stopped, added and removed at random"
          + " moments, and proves from their logs that each sample of each epoch was used in one"
          + " completed step, that the states of all ranks were equal, and that a plain loop"
          + " without faults reaches the same bits.",
      "Without --short and --only: 255 faults of 13 kinds in 20 epochs of the whole data.",
      "With the whole data, the accuracy is also compared with one process's without faults."
    },
    footer = {"", "Exit status: 0 held, 1 did not hold, 2 options that cannot be used."})
final class Faults implements Callable<Integer> {
  private static final int SHORT_SAMPLES = 5999;
  private static final int WHOLE_SAMPLES = 60_000;

  @Option(names = "--short", description = "One fault of each kind, with a tenth of the data.")
  private boolean isShort;

  @Option(
      names = "--only",
      paramLabel = "KIND",
      description = "Only this kind, with a tenth of the data: ${COMPLETION-CANDIDATES}.")
  private @Nullable Fault only;

  @Option(
      names = "--times",
      paramLabel = "N",
      description = "How often, with --only (default: 5), or each kind with --short (default: 1).")
  private @Nullable Integer times;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description = "Train N epochs of the whole data, with --short or --only.")
  private @Nullable Integer epochs;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description =
          "Fixes the order of faults and the random times between them (default: ${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Folder with MNIST's four idx files (default: the user's cache).")
  private @Nullable Path data;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Folder of the logs (default: a new folder runs/faults-DATE-TIME).")
  private @Nullable Path out;

  /**
   * Runs a campaign and ends the process.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return Commands.of(new Faults());
  }

  /** Returns the faults of the chosen campaign. */
  List<Fault> faults() {
    if (isShort && only != null) {
      throw CommandException.wrongUse("--short and --only exclude each other");
    }
    if (times != null && !isShort && only == null) {
      throw CommandException.wrongUse("--times needs --short or --only");
    }
    if (epochs != null && !isShort && only == null) {
      throw CommandException.wrongUse("--epochs needs --short or --only");
    }
    if (epochs != null && epochs < 1) {
      throw CommandException.wrongUse("--epochs must be at least 1, got " + epochs);
    }
    if (times != null && times < 1) {
      throw CommandException.wrongUse("--times must be at least 1, got " + times);
    }
    if (only != null) {
      return Collections.nCopies(times == null ? 5 : times, only);
    }
    List<Fault> all = new ArrayList<>();
    for (Fault each : Fault.values()) {
      int count = isShort ? 1 : each.times;
      all.addAll(Collections.nCopies(times == null ? count : times, each));
    }
    return all;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    List<Fault> faults = faults();
    Path folder = out == null ? OutputFolder.ofNewRun("faults") : out;
    if (Files.exists(folder.resolve(Campaign.FIRST_JOB))) {
      throw CommandException.wrongUse("--out " + folder + " has the files of another campaign");
    }
    Path files = MnistFolder.ofUser(System.err::println).whole().locate(data);
    OutputFolder.create(folder);
    boolean isWhole = !isShort && only == null;
    double bar = isWhole ? 0.985 : 0.9;
    RankArguments.Training training =
        isWhole || epochs != null
            ? new RankArguments.Training(
                files,
                new ElasticModel.Plan(WHOLE_SAMPLES, 240, seed),
                0.03,
                epochs == null ? 20 : epochs,
                60)
            : new RankArguments.Training(
                files, new ElasticModel.Plan(SHORT_SAMPLES, 48, seed), 0.03, 3, 25);
    Campaign campaign =
        new Campaign(folder, training, RankJvm.command(), bar, seed, System.err::println);
    Campaign.Totals totals = campaign.run(faults);
    Path written = folder.resolve("report.md");
    Files.writeString(written, Report.of(totals, bar)); // if the comparison fails
    if (totals.broken.isEmpty() && training.plan().samples() == WHOLE_SAMPLES) {
      System.err.println("trains the same in one process without faults");
      totals.compare(Undisturbed.accuracy(training));
    }
    String report = Report.of(totals, bar);
    Files.writeString(written, report);
    System.out.print(report);
    if (totals.broken.isEmpty()) {
      return 0;
    }
    System.out.println("the logs are in " + folder.toAbsolutePath());
    return 1;
  }
}
