// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.Digraph;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.IdMap;
import io.torchfeed.text.TextPartition;
import java.util.Arrays;
import java.util.List;

/**
 * PageRank of the whole graph in one process with Java arrays: the expected result of the ranks.
 */
final class PlainPageRank {
  private PlainPageRank() {}

  /** Returns the largest difference of a value from the ranks', relative to the value. */
  static double difference(Settings settings, IdMap ids, Scores scores) {
    TextPartition plan = TextPartition.plan(List.of(GraphRank.data(settings)), 1);
    Digraph graph =
        Digraph.of(
            EdgeLoader.over(plan).build().load(0, AllToAll.alone()),
            EdgeLoader.DuplicatePolicy.SUM);
    double[] expected = of(graph, settings.iterations(), settings.damping());
    if (expected.length != scores.vertices()) {
      throw new CommandException(
          "the ranks must have the %d vertices of the file, got %d"
              .formatted(expected.length, scores.vertices()));
    }
    double largest = 0;
    for (int vertex = 0; vertex < expected.length; vertex++) {
      int place = ids.numberOf(graph.vertices().id(vertex));
      double got = place < 0 ? scores.others() : scores.of(place);
      largest = Math.max(largest, Math.abs(got - expected[vertex]) / expected[vertex]);
    }
    return largest;
  }

  static double[] of(Digraph graph, int iterations, double damping) {
    int vertices = graph.vertices().size();
    double[] weights = new double[vertices];
    graph.traverse((from, to, weight) -> weights[from] += weight);
    double[] values = new double[vertices];
    Arrays.fill(values, 1.0 / vertices);
    for (int iteration = 0; iteration < iterations; iteration++) {
      double[] now = values;
      double[] next = new double[vertices];
      double withoutEdges = 0;
      for (int vertex = 0; vertex < vertices; vertex++) {
        withoutEdges += graph.outDegree(vertex) == 0 ? now[vertex] : 0;
      }
      graph.traverse((from, to, weight) -> next[to] += now[from] * weight / weights[from]);
      for (int vertex = 0; vertex < vertices; vertex++) {
        next[vertex] =
            damping * (next[vertex] + withoutEdges / vertices) + (1 - damping) / vertices;
      }
      values = next;
    }
    return values;
  }
}
