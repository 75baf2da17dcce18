// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.torchfeed.partition.Bigraph;
import io.torchfeed.partition.Duplicates;
import io.torchfeed.partition.EdgeLoader;
import io.torchfeed.partition.LocalRanks;
import io.torchfeed.partition.TextPartition;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What edges of a text file take of the Java heap, on two ranks that are threads. The limit of the
 * JVM's heap is what may be taken while they are built; it prints what is left when they are.
 */
final class EdgeMemory {
  private static final int EDGES = 10_000_000;
  private static final int VERTICES = 500_000;
  private static final int RANKS = 2;

  private EdgeMemory() {}

  /** Writes a file of edges, loads it and measures. */
  public static void main(String[] args) throws IOException {
    Path file = Files.createTempFile("edges", ".txt");
    try {
      write(file);
      long before = used();
      long start = System.nanoTime();
      List<Bigraph> graphs = load(file);
      double seconds = (System.nanoTime() - start) / 1e9;
      double bytes = (double) (used() - before) / EDGES;
      long edges = graphs.stream().mapToLong(graph -> graph.edges().entries()).sum();
      System.out.printf(
          "heap limit %.1f bytes an edge; finished %.1f bytes an edge; %,d edges in %.1f s%n",
          (double) Runtime.getRuntime().maxMemory() / EDGES, bytes, edges, seconds);
    } finally {
      Files.delete(file);
    }
  }

  private static List<Bigraph> load(Path file) {
    TextPartition plan = TextPartition.plan(List.of(file.toString()), RANKS);
    return LocalRanks.run(
        RANKS,
        (rank, exchange) ->
            Bigraph.of(EdgeLoader.over(plan).build().load(rank, exchange), Duplicates.KEEP));
  }

  /** Few vertices have most of the edges; the ids take more than 32 bits. */
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
