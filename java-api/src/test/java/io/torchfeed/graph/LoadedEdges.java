// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.text.Lines;
import io.torchfeed.text.TextPartition;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Loaders of a text, and the edges that they load as texts. */
final class LoadedEdges {
  private LoadedEdges() {}

  /** Returns a loader of a file with this content. */
  static EdgeLoader.Builder over(Path folder, int worldSize, String content) {
    Path file = Lines.file(folder, "edges", content);
    return EdgeLoader.over(
        TextPartition.plan(
            Lines.names(file), worldSize, LinePattern.EDGES_BY_SOURCE.blocksPerRank()));
  }

  /** Returns each edge as its ids and its weight, separated by spaces. */
  static List<String> texts(Edges edges) {
    List<String> texts = new ArrayList<>();
    edges.forEach(
        (a, b, weight) ->
            texts.add(edges.firstIds().name(a) + " " + edges.secondIds().name(b) + " " + weight));
    return texts;
  }

  /** Returns the edges that a single rank loads. */
  static List<String> alone(EdgeLoader.Builder builder) {
    return texts(builder.build().load(0, AllToAll.alone()));
  }
}
