// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The validated settings of a run.
 *
 * @param ranks number of processes, in [1, 64]
 * @param oversubscribe whether more processes are started than this machine has room for
 * @param edges number of edges to generate, in [1, 1000000000]
 * @param seed seed of the generated edges
 * @param data file, directory or pattern to read instead, or null
 * @param iterations iterations of PageRank, in [1, 10000]
 * @param damping damping of PageRank, in [0, 1)
 * @param check whether rank 0 compares the result with a single process's
 * @param out output folder of the run
 * @param bar whether progress is drawn as a bar
 */
record Settings(
    int ranks,
    boolean oversubscribe,
    long edges,
    long seed,
    @Nullable String data,
    int iterations,
    double damping,
    boolean check,
    Path out,
    boolean bar) {
  private static final long MAX_EDGES = 1_000_000_000;

  Settings {
    require("--ranks", ranks, 64);
    require("--edges", edges, MAX_EDGES);
    require("--iterations", iterations, 10_000);
    if (!(damping >= 0 && damping < 1)) {
      throw new IllegalArgumentException("--damping must be in [0, 1), got " + damping);
    }
  }

  private static void require(String option, long value, long most) {
    if (value < 1 || value > most) {
      throw new IllegalArgumentException(
          "%s must be in [1, %d], got %d".formatted(option, most, value));
    }
  }

  Settings with(String found) {
    return new Settings(
        ranks, oversubscribe, edges, seed, found, iterations, damping, check, out, bar);
  }

  /** Returns the command-line arguments that reproduce these settings in a rank. */
  List<String> toArguments() {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--ranks=" + ranks,
                "--edges=" + edges,
                "--seed=" + seed,
                "--iterations=" + iterations,
                "--damping=" + damping,
                "--out=" + out.toAbsolutePath(),
                "--progress=" + (bar ? "bar" : "lines")));
    if (check) {
      arguments.add("--check");
    }
    if (data != null) {
      arguments.add("--data=" + data);
    }
    return List.copyOf(arguments);
  }
}
