// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import io.torchfeed.examples.common.Progress;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.Edges;
import io.torchfeed.graph.IdMap;
import io.torchfeed.graph.LinePattern;
import io.torchfeed.graph.SparseMatrix;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The work of one rank: reads its lines, receives the edges it owns, computes PageRank. */
final class GraphRank {
  /** Maximum relative difference from a single process, which adds the numbers in another order. */
  private static final double TOLERANCE = 1e-9;

  private static final int LISTED = 1_000;
  private static final int PRINTED = 5;

  private final Settings settings;
  private final ProcessGroup group;
  private final Shown shown;

  GraphRank(Settings settings, ProcessGroup group, Shown shown) {
    this.settings = settings;
    this.group = group;
    this.shown = shown;
  }

  private static final int LINES = 4; // of progress in a log

  /** A factory of progress displays for parts of the work with a given number of steps. */
  @FunctionalInterface
  interface Shown {
    Progress begin(String title, long whole);
  }

  /** Shows the progress of a part of the work, as the settings say. */
  static Progress progress(Settings settings, String title, long whole) {
    return Progress.show(settings.bar(), title, whole, System.err, LINES);
  }

  static int run(Settings settings) {
    try (ProcessGroup group = join()) {
      Shown shown =
          (title, whole) ->
              group.rank() == 0 ? progress(settings, title, whole) : Progress.silent();
      return new GraphRank(settings, group, shown).run();
    }
  }

  /** Joins the group given by the environment; reports an invalid environment to the user. */
  private static ProcessGroup join() {
    try {
      return ProcessGroup.join();
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongEnvironment(e);
    } catch (IllegalStateException e) { // another process has this rank, or the port
      throw new CommandException(String.valueOf(e.getMessage()), e);
    }
  }

  static String data(Settings settings) {
    if (settings.data() == null) {
      throw new CommandException(
          "--data is missing: a rank reads the file that the launcher found");
    }
    return settings.data();
  }

  int run() {
    long start = System.nanoTime();
    TextPartition plan =
        TextPartition.plan(
            List.of(data(settings)), group.size(), LinePattern.EDGES_BY_SOURCE.blocksPerRank());
    if (group.rank() == 0) {
      System.out.print(plan.table());
    }
    Edges edges = read(plan);
    SparseMatrix part = SparseMatrix.of(edges, group::allToAll);
    List<RankFigures> figures =
        RankFigures.ofAll(
            new RankFigures(
                group.rank(),
                plan.shares().get(group.rank()).bytes(),
                edges.lines(),
                edges.size(),
                part.cells().entries(),
                (System.nanoTime() - start) / 1_000_000),
            group);
    Scores scores = rank(part);
    return group.rank() == 0 ? report(figures, part.columnIds(), scores) : 0;
  }

  private Edges read(TextPartition plan) {
    long bytes = plan.ranges(group.rank()).stream().mapToLong(range -> range.length()).sum();
    try (Progress progress = shown.begin("reading", bytes)) {
      return EdgeLoader.over(plan)
          .onProgress(progress::at)
          .build()
          .load(group.rank(), group::allToAll);
    }
  }

  private Scores rank(SparseMatrix part) {
    PageRank pageRank = new PageRank(part, group, settings.damping());
    try (Progress progress = shown.begin("ranking", settings.iterations())) {
      return pageRank.run(settings.iterations(), progress::at);
    } finally {
      pageRank.close();
    }
  }

  private int report(List<RankFigures> figures, IdMap ids, Scores scores) {
    System.out.print(RankFigures.table(figures));
    List<Integer> top =
        IntStream.range(0, ids.size())
            .boxed()
            .sorted(Comparator.comparingDouble(vertex -> -scores.of(vertex)))
            .limit(LISTED)
            .toList();
    System.out.printf(
        Locale.ROOT, "%,d vertices, sum of all values %.12f%n", scores.vertices(), scores.sum());
    top.stream()
        .limit(PRINTED)
        .forEach(vertex -> System.out.println("  " + line(ids, scores, vertex)));
    Path plot = settings.out().resolve("ranks.png");
    try {
      OutputFile.write(
          settings.out().resolve("pagerank.csv"),
          top.stream()
              .map(vertex -> line(ids, scores, vertex) + "\n")
              .collect(Collectors.joining())
              .getBytes(UTF_8));
      FiguresPlot.write(figures, plot);
    } catch (IOException e) {
      throw new CommandException("cannot write to " + settings.out() + ": " + e.getMessage(), e);
    }
    System.out.println("Drawn in " + plot);
    return settings.check() ? check(ids, scores) : 0;
  }

  private static String line(IdMap ids, Scores scores, int vertex) {
    return ids.name(vertex) + "," + scores.of(vertex);
  }

  private int check(IdMap ids, Scores scores) {
    double difference = PlainPageRank.difference(settings, ids, scores);
    System.out.printf(
        Locale.ROOT,
        "Largest difference from a single process: %.2e of the value, %s %.0e%n",
        difference,
        difference <= TOLERANCE ? "within" : "ABOVE",
        TOLERANCE);
    return difference <= TOLERANCE ? 0 : 1;
  }
}
