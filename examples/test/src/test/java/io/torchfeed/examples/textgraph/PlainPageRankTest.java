// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.Digraph;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlainPageRankTest {
  private final Path folder;

  PlainPageRankTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private String file(String text) throws IOException {
    return Files.writeString(folder.resolve("edges"), text).toString();
  }

  private Digraph graph(String text) throws IOException {
    TextPartition plan = TextPartition.plan(List.of(file(text)), 1);
    return Digraph.of(
        EdgeLoader.over(plan).build().load(0, AllToAll.alone()), EdgeLoader.DuplicatePolicy.SUM);
  }

  @Test
  void aCycleSharesEvenly() throws IOException {
    assertThat(PlainPageRank.of(graph("1,2\n2,3\n3,1\n"), 7, 0.85))
        .containsExactly(new double[] {1 / 3.0, 1 / 3.0, 1 / 3.0}, within(1e-15));
  }

  /** One step from 1/2 each: vertex 1 gets 0.075 + half the flow of vertex 2, which has no edge. */
  @Test
  void verticesWithoutEdgesFlowToAll() throws IOException {
    assertThat(PlainPageRank.of(graph("1,2\n"), 1, 0.85))
        .containsExactly(new double[] {0.075 + 0.85 * 0.25, 0.075 + 0.85 * 0.75}, within(1e-15));
  }

  @Test
  void weightsDivideTheFlow() throws IOException {
    assertThat(PlainPageRank.of(graph("1,2,3\n1,3,1\n2,1\n3,1\n"), 1, 0.5))
        .containsExactly(
            new double[] {1 / 6.0 + 1 / 3.0, 1 / 6.0 + 0.125, 1 / 6.0 + 1 / 24.0}, within(1e-15));
  }

  @Test
  void aWrongValueOrVertexCountIsDetected() throws IOException {
    String text = "1,2\n2,3\n3,1\n";
    Settings settings = new Settings(1, false, 1, 0, file(text), 3, 0.85, true, folder, false);
    Digraph graph = graph(text);
    double[] values = PlainPageRank.of(graph, 3, 0.85);
    assertThat(PlainPageRank.difference(settings, graph.vertices(), new Scores(values, 0.05, 3)))
        .isZero();
    values[1] *= 1.001;
    assertThat(PlainPageRank.difference(settings, graph.vertices(), new Scores(values, 0.05, 3)))
        .isCloseTo(0.001, within(1e-12));
    assertThatThrownBy(
            () -> PlainPageRank.difference(settings, graph.vertices(), new Scores(values, 0.05, 4)))
        .isInstanceOf(CommandException.class)
        .hasMessageContaining("3 vertices");
  }
}
