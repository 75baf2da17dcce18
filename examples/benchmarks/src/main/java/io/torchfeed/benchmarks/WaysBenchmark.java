// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Unmatched;

/** The command line that trains MNIST in every way, and compares the ways. */
@Command(
    name = "ways",
    description = {
      "Trains MNIST once in each way in which ranks can train together, one after the other, and"
          + " prints test accuracy, seconds per epoch and bytes per step as a table.",
      "Writes comparison.md and comparison.png to --out, and each run to a folder of its own.",
      "Takes all other options of examples/mnist-ddp/train, except for --algorithm, --comm and"
          + " --resume."
    },
    footer = {"", "Example: ways --ranks 2 --epochs 3 --out runs/ways"})
final class WaysBenchmark implements Callable<Integer> {
  /** Ways to send gradients, of {@code --comm}; the others are compared with the first. */
  private static final List<String> COMM =
      List.of("allreduce", "float16", "bfloat16", "bytegrad", "powersgd", "qadam");

  /** Ways to exchange weights, of {@code --algorithm}. */
  private static final List<String> ALGORITHM =
      List.of("decentralized", "shift-one", "low-precision", "async", "post-local");

  @Option(names = "--train", required = true, hidden = true)
  private Path train = Path.of("");

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Folder of the comparison (default: ${DEFAULT-VALUE}).")
  private Path out = Path.of("runs", "comparison");

  @Option(
      names = "--ways",
      split = ",",
      paramLabel = "WAY",
      description = "The ways to compare, such as allreduce,float16 (default: all).")
  private List<String> ways = Stream.concat(COMM.stream(), ALGORITHM.stream()).toList();

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
    return Commands.of(new WaysBenchmark());
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    for (String way : ways) {
      if (!COMM.contains(way) && !ALGORITHM.contains(way)) {
        throw CommandException.wrongUse(
            "--ways must be of %s and %s, got %s".formatted(COMM, ALGORITHM, way));
      }
    }
    List<WaysTable.Row> rows = new ArrayList<>();
    for (String way : ways) {
      System.out.println("== " + way);
      List<String> command = new ArrayList<>(List.of(train.toString()));
      command.addAll(options == null ? List.of() : options);
      command.addAll(
          List.of(
              (COMM.contains(way) ? "--comm=" : "--algorithm=") + way,
              "--out=" + out.resolve(way)));
      int status = new ProcessBuilder(command).inheritIO().start().waitFor();
      if (status != 0) {
        return status;
      }
      rows.add(WaysTable.Row.of(way, Files.readAllLines(out.resolve(way).resolve("metrics.csv"))));
    }
    WaysTable table = new WaysTable(rows);
    table.write(out);
    System.out.print(table.toMarkdown());
    return 0;
  }
}
