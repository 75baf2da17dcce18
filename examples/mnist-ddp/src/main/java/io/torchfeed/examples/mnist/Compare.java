// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Unmatched;

/** The command line that trains the same net in every way, and compares the ways. */
@Command(
    name = "compare",
    description = {
      "Trains MNIST once in each way in which ranks can train together, one after the other, and"
          + " prints test accuracy, seconds per epoch and bytes per step as a table.",
      "Writes comparison.md and comparison.png to --out, and each run to a folder of its own.",
      "All other options are train's, except --algorithm, --comm and --resume. With a --device"
          + " other than cpu, the ways that need the CPU are left out; with an odd number of ranks,"
          + " shift-one."
    },
    footer = {"", "Example: compare --ranks 2 --epochs 3 --out runs/ways"})
final class Compare implements Callable<Integer> {
  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Folder of the comparison (default: ${DEFAULT-VALUE}).")
  private Path out = Path.of("runs", "comparison");

  @Unmatched private @Nullable List<String> options;

  /**
   * Compares the ways and ends the process.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return Main.training(new Compare());
  }

  @Override
  public Integer call() throws IOException {
    Map<String, Settings> ways = new LinkedHashMap<>(); // all, so that a wrong option fails at once
    Settings any = settings("any");
    boolean onCpu = any.device().equals(TrainingDevice.CPU);
    for (Comm comm : Comm.values()) {
      if (onCpu || Settings.isOnDevices(Algorithm.ALLREDUCE, comm)) {
        ways.put(comm.toString(), settings(comm.toString(), "--comm=" + comm));
      }
    }
    for (Algorithm algorithm : Algorithm.values()) {
      if (algorithm.isPossible(any.ranks())
          && (onCpu || Settings.isOnDevices(algorithm, Comm.ALLREDUCE))) {
        ways.putIfAbsent(
            algorithm.toString(), settings(algorithm.toString(), "--algorithm=" + algorithm));
      }
    }
    List<Comparison.Row> rows = new ArrayList<>();
    for (Map.Entry<String, Settings> way : ways.entrySet()) {
      System.out.println("== " + way.getKey());
      int status = Launch.run(way.getValue());
      if (status != 0) {
        return status;
      }
      Path metrics = way.getValue().out().resolve("metrics.csv");
      rows.add(
          Comparison.Row.of(way.getKey(), MetricsCsv.after(metrics, Integer.MAX_VALUE).rows()));
    }
    Comparison comparison = new Comparison(rows);
    comparison.write(out);
    System.out.print(comparison.toMarkdown());
    return 0;
  }

  private Settings settings(String name, String... way) {
    List<String> arguments = new ArrayList<>(options == null ? List.of() : options);
    arguments.addAll(List.of(way));
    arguments.add("--out=" + out.resolve(name));
    try {
      Main train = new Main(Map.of());
      Main.commandLine(train).parseArgs(arguments.toArray(new String[0]));
      return train.settings();
    } catch (ParameterException e) {
      throw CommandException.wrongUse(String.valueOf(e.getMessage()), e);
    }
  }
}
