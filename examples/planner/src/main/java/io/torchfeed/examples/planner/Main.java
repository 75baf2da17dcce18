// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.sampler.balance.BalanceReport;
import io.torchfeed.sampler.balance.Costs;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * The command line: reads costs, plans an epoch with each sampler, prints and plots the results.
 */
@Command(
    name = "plan",
    description = {
      "Predicts the balance of each sampler for your samples, before anything is trained.",
      "A step of distributed training lasts as long as its slowest rank. From the cost of each"
          + " sample (its length, bytes or time) this plans one epoch with each sampler and reports"
          + " the imbalance between ranks, the share of padding, how often the same samples share a"
          + " batch again, and the speed-up of an epoch over a random order."
    },
    footer = {
      "",
      "Example: plan lengths.csv --column tokens --world-size 8 --batch-size 32 --out plan.png",
      "Exit status: 0 planned, 1 failed, 2 options or input that cannot be used."
    })
final class Main implements Callable<Integer> {
  private @Spec @Nullable CommandSpec spec;

  @Parameters(
      paramLabel = "FILE",
      description = "CSV file with one line per sample; the first line may name the columns.")
  private Path file = Path.of("");

  @Option(
      names = "--column",
      paramLabel = "NAME|N",
      description =
          "Column that holds the costs, by its name in the first line or its number, starting at 1"
              + " (default: ${DEFAULT-VALUE}).")
  private String column = "1";

  @Option(
      names = "--world-size",
      paramLabel = "N",
      description = "Ranks that train together (default: ${DEFAULT-VALUE}).")
  private int worldSize = 8;

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      description = "Samples that each rank takes in one step (default: ${DEFAULT-VALUE}).")
  private int batchSize = 32;

  @Option(
      names = "--budget",
      paramLabel = "COST",
      description =
          "Maximum cost of a batch of varying size, which is its number of samples times the"
              + " longest (default: the average cost of --batch-size samples, but at least the"
              + " largest cost).")
  private @Nullable Long budget;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Fixes all random choices (default: ${DEFAULT-VALUE}).")
  private long seed = 0;

  @Option(
      names = "--sample",
      paramLabel = "N",
      description =
          "Plan with N costs drawn at random if the file holds more; 0 plans with all, however long"
              + " that takes (default: ${DEFAULT-VALUE}).")
  private int sample = 200_000;

  @Option(
      names = "--out",
      paramLabel = "FILE",
      description = "PNG file for the chart of the results (default: ${DEFAULT-VALUE}).")
  private Path out = Path.of("plan.png");

  Main() {}

  /**
   * Runs the planner and ends the process.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return Commands.of(new Main());
  }

  @Override
  public Integer call() {
    if (sample < 0) {
      throw CommandException.wrongUse("--sample must be at least 0, got " + sample);
    }
    Path folder = out.toAbsolutePath().getParent();
    if (folder == null || !Files.isWritable(folder) || !folder.toFile().isDirectory()) {
      throw CommandException.wrongUse(
          "--out must be a file in an existing folder that can be written, got " + out);
    }
    if (out.toFile().isDirectory()) {
      throw CommandException.wrongUse("--out must be a file, got the folder " + out);
    }
    Costs all = CostFile.read(file, column);
    Costs costs = Setup.drawn(all, sample, seed);
    long most = budget == null ? Setup.budgetOf(costs, batchSize) : budget;
    Setup setup = new Setup(costs, worldSize, batchSize, most, seed);
    PrintWriter output = (spec == null ? CommandSpec.create() : spec).commandLine().getOut();
    output.println(heading(all.size(), setup));
    List<Result> results = results(setup);
    output.println(ResultTable.of(results));
    for (Strategy strategy : Strategy.all()) {
      output.printf("%-16s %s%n", strategy.name(), strategy.meaning());
    }
    draw(results);
    output.printf("%nDrawn in %s%n", out);
    return 0;
  }

  private void draw(List<Result> results) {
    try {
      ResultChart.write(results, out);
    } catch (IOException e) {
      throw CommandException.wrongUse("--out cannot be written, got " + out + ": " + e, e);
    }
  }

  private static List<Result> results(Setup setup) {
    List<Strategy> strategies = Strategy.all();
    List<BalanceReport> reports =
        strategies.parallelStream().map(each -> each.report().apply(setup)).toList();
    return strategies.stream()
        .map(each -> Result.of(each.name(), reports.get(strategies.indexOf(each)), reports.get(0)))
        .toList();
  }

  private static String heading(int samplesOfFile, Setup setup) {
    String samples = String.format(Locale.ROOT, "%,d samples", samplesOfFile);
    if (setup.costs().size() < samplesOfFile) {
      samples =
          String.format(
              Locale.ROOT, "%,d samples drawn from %,d", setup.costs().size(), samplesOfFile);
    }
    return String.format(
        Locale.ROOT,
        "%s, %d ranks, batches of %d or of cost at most %,d%n",
        samples,
        setup.worldSize(),
        setup.batchSize(),
        setup.budget());
  }
}
