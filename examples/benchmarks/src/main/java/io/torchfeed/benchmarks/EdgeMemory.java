// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.torchfeed.graph.BipartiteGraph;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.LocalRanks;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A program that measures the Java heap taken by the edges of a text file, on two ranks that are
 * threads. The heap limit of the JVM bounds the memory taken while the graphs are built; the
 * program prints the memory that the finished graphs take.
 */
final class EdgeMemory {
  private static final int EDGES = 10_000_000;
  private static final int VERTICES = 500_000;
  private static final int RANKS = 2;

  private EdgeMemory() {}

  /** Writes a file of edges, loads it and prints the memory per edge. */
  public static void main(String[] args) throws IOException {
    Path file = Files.createTempFile("edges", ".txt");
    try {
      write(file);
      long before = used();
      long start = System.nanoTime();
      List<BipartiteGraph> graphs = load(file);
      double seconds = (System.nanoTime() - start) / 1e9;
      double bytes = (double) (used() - before) / EDGES;
      long edges = graphs.stream().mapToLong(graph -> graph.edges().entries()).sum();
      System.out.printf(
          "heap limit %.1f bytes per edge; finished %.1f bytes per edge; %,d edges in %.1f s%n",
          (double) Runtime.getRuntime().maxMemory() / EDGES, bytes, edges, seconds);
    } finally {
      Files.delete(file);
    }
  }

  private static List<BipartiteGraph> load(Path file) {
    TextPartition plan = TextPartition.plan(List.of(file.toString()), RANKS);
    return LocalRanks.run(
        RANKS,
        (rank, exchange) ->
            BipartiteGraph.of(
                EdgeLoader.over(plan).build().load(rank, exchange),
                EdgeLoader.DuplicatePolicy.KEEP));
  }

  /** Writes edges of which few vertices have most; the ids take more than 32 bits. */
  private static void write(Path file) throws IOException {
    SplittableRandom random = new SplittableRandom(1);
    try (Writer out = Files.newBufferedWriter(file, US_ASCII)) {
      for (int i = 0; i < EDGES; i++) {
        out.write(id(random) + "," + id(random) + ",0." + random.nextInt(1000) + "\n");
      }
    }
  }

  private static long id(SplittableRandom random) {
    double skewed = random.nextDouble() * random.nextDouble();
    long vertex = (long) (skewed * VERTICES);
    return vertex * 100_003;
  }

  private static long used() {
    Runtime runtime = Runtime.getRuntime();
    System.gc();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
