// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.ProgressMode;
import io.torchfeed.graph.ExchangeException;
import io.torchfeed.text.LineException;
import io.torchfeed.text.TextFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The command line. Started by hand, it is the launcher: it generates the edges and starts one
 * process per rank. With {@code RANK} in the environment, it is that rank.
 */
@Command(
    name = "rank",
    description = {
      "PageRank of a file of edges with several Java processes on this machine.",
      "Each process (a rank) reads its own bytes of the file, sends each edge to the rank that owns"
          + " its source vertex, and multiplies its part of the sparse matrix."
    },
    footer = {
      "",
      "Example: rank --ranks 4 --edges 1000000 --check",
      "Exit status: 0 ranked, 1 failed or different from a single process, 2 options,"
          + " files named by them, or environment variables that cannot be used."
    })
final class Main implements Callable<Integer> {
  /** Failures that the user can fix or that another rank caused; shown without a stack trace. */
  private static final List<Class<? extends Exception>> EXPECTED =
      List.of(
          PeerLostException.class,
          ExchangeException.class,
          LineException.class,
          TextFileException.class);

  @Option(
      names = "--ranks",
      paramLabel = "N",
      description = "Java processes to rank with (default: ${DEFAULT-VALUE}).")
  private int ranks = 2;

  @Option(
      names = "--oversubscribe",
      description =
          "Start more processes than four for each processor, or than the memory allows for.")
  private boolean oversubscribe;

  @Option(
      names = "--edges",
      paramLabel = "N",
      description =
          "Edges to generate on the first run, with degrees that follow a power law, and to keep in"
              + " the user's cache (default: ${DEFAULT-VALUE}).")
  private long edges = 10_000_000;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Fixes the generated edges (default: ${DEFAULT-VALUE}).")
  private long seed = 0;

  @Option(
      names = "--data",
      paramLabel = "FILE",
      description =
          "Lines a,b or a,b,weight to read instead: a file, a directory or a pattern; .gz files"
              + " are decompressed.")
  private @Nullable String data;

  @Option(
      names = "--iterations",
      paramLabel = "N",
      description = "Iterations of PageRank (default: ${DEFAULT-VALUE}).")
  private int iterations = 20;

  @Option(
      names = "--damping",
      paramLabel = "X",
      description = "Damping of PageRank, from 0 to below 1 (default: ${DEFAULT-VALUE}).")
  private double damping = 0.85;

  @Option(
      names = "--check",
      description =
          "Compare with the same computation in a single process; print the largest difference.")
  private boolean check;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description =
          "Folder for pagerank.csv and ranks.png, created if missing (default: a new folder"
              + " runs/text-graph-DATE-TIME).")
  private @Nullable Path out;

  @Option(
      names = "--progress",
      paramLabel = "HOW",
      description =
          "auto, bar or lines; auto draws a bar on a terminal and prints lines in a log (default:"
              + " auto).")
  private ProgressMode progress = ProgressMode.AUTO;

  private final Map<String, String> environment;

  Main(Map<String, String> environment) {
    this.environment = environment;
  }

  /**
   * Runs the launcher or a rank and ends the process.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(commandLine(System.getenv()).execute(arguments));
  }

  static CommandLine commandLine(Map<String, String> environment) {
    return Commands.of(new Main(environment), List.of(), EXPECTED);
  }

  @Override
  public Integer call() {
    Settings settings = settings();
    return environment.containsKey("RANK") ? GraphRank.run(settings) : Launch.run(settings);
  }

  Settings settings() {
    try {
      return new Settings(
          ranks,
          oversubscribe,
          edges,
          seed,
          data,
          iterations,
          damping,
          check,
          out == null ? OutputFolder.ofNewRun("text-graph") : out,
          progress.isBar());
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongUse(String.valueOf(e.getMessage()), e);
    }
  }
}
