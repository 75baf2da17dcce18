// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.text.Lines;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class GraphFileTest {
  private final Path folder;
  private final Path saved;

  GraphFileTest(@TempDir Path folder) {
    this.folder = folder;
    saved = folder.resolve("saved");
  }

  private Edges edges(IdMap.Kind ids, String content) {
    Path file = Lines.file(folder, "edges", content);
    return EdgeLoader.over(TextPartition.plan(Lines.names(file), 1))
        .ids(ids)
        .build()
        .load(0, AllToAll.alone());
  }

  private Edges manyEdges(IdMap.Kind ids) {
    StringBuilder content = new StringBuilder();
    for (int i = 0; i < 30_000; i++) {
      content
          .append(i * 7919L % 4001)
          .append(',')
          .append(i * 31L % 997)
          .append(',')
          .append(i / 7.0);
      content.append('\n');
    }
    return edges(ids, content.toString());
  }

  @ParameterizedTest
  @EnumSource(IdMap.Kind.class)
  void aLoadedGraphEqualsTheSavedOne(IdMap.Kind ids) {
    Edges edges = manyEdges(ids);
    BipartiteGraph bigraph = BipartiteGraph.of(edges, EdgeLoader.DuplicatePolicy.KEEP);
    GraphFile.save(bigraph, saved);
    assertThat(GraphFile.loadBipartiteGraph(saved).edges()).isEqualTo(bigraph.edges());
    assertThat(GraphFile.loadBipartiteGraph(saved).left()).isEqualTo(bigraph.left());
    assertThat(GraphFile.loadBipartiteGraph(saved).right()).isEqualTo(bigraph.right());
    Digraph digraph = Digraph.of(edges, EdgeLoader.DuplicatePolicy.LAST);
    GraphFile.save(digraph, saved);
    assertThat(GraphFile.loadDigraph(saved).vertices()).isEqualTo(digraph.vertices());
    assertThat(GraphFile.loadDigraph(saved).reverse()).isEqualTo(digraph.reverse());
    SparseMatrix matrix = SparseMatrix.of(edges, AllToAll.alone());
    GraphFile.save(matrix, saved);
    assertThat(GraphFile.loadMatrix(saved).cells()).isEqualTo(matrix.cells());
    assertThat(GraphFile.loadMatrix(saved).rowIds()).isEqualTo(matrix.rowIds());
    assertThat(folder).isDirectoryNotContaining("glob:**.partial-*");
  }

  @ParameterizedTest
  @EnumSource(IdMap.Kind.class)
  void anUndirectedGraphKeepsTheVerticesOfItsRank(IdMap.Kind ids) {
    Path file = Lines.file(folder, "edges", "1,2,3\n2,4\n5,5\n3,6,0.5\n6,1\n");
    EdgeLoader loader = EdgeLoader.over(TextPartition.plan(Lines.names(file), 2)).ids(ids).build();
    List<UndirectedGraph> graphs =
        LocalRanks.run(
            2,
            (rank, exchange) ->
                UndirectedGraph.of(
                    loader.loadBothEnds(rank, exchange), EdgeLoader.DuplicatePolicy.LAST));
    for (UndirectedGraph graph : graphs) {
      GraphFile.save(graph, saved);
      UndirectedGraph loaded = GraphFile.loadUndirected(saved);
      assertThat(loaded.vertices()).isEqualTo(graph.vertices());
      assertThat(loaded.neighbours()).isEqualTo(graph.neighbours());
      assertThat(loaded.edgeCount()).isEqualTo(graph.edgeCount());
      for (int vertex = 0; vertex < graph.vertices().size(); vertex++) {
        assertThat(loaded.isOwned(vertex)).isEqualTo(graph.isOwned(vertex));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "é,1,2\nb,3,4.5\né,-1,1e300\n,0,0\n", "only\nids\n"})
  void denseRowsKeepTheirOrder(String content) {
    Path file = Lines.file(folder.resolve("rows"), content.getBytes(UTF_8));
    DenseRows rows =
        DenseRows.read(
            TextPartition.plan(Lines.names(file), 1, LinePattern.ROWS.blocksPerRank()),
            0,
            LineParser.separatedBy(","),
            ErrorPolicy.FAIL);
    GraphFile.save(rows, saved);
    DenseRows loaded = GraphFile.loadDense(saved);
    assertThat(loaded.ids()).isEqualTo(rows.ids());
    assertThat(loaded.width()).isEqualTo(rows.width());
    assertThat(loaded.values()).isEqualTo(rows.values());
  }

  @Test
  void theFormatMatchesItsDocumentation() throws IOException {
    GraphFile.save(
        BipartiteGraph.of(edges(IdMap.Kind.NUMBER, "5,9,0.5\n"), EdgeLoader.DuplicatePolicy.LAST),
        saved);
    ByteBuffer expected = ByteBuffer.allocate(80).order(ByteOrder.LITTLE_ENDIAN);
    expected.put("TFGRAPH1".getBytes(US_ASCII)).putInt(1);
    expected.putInt(0).putInt(1).putLong(5);
    expected.putInt(0).putInt(1).putLong(9);
    expected.putInt(1).putInt(1).putInt(1);
    expected.putInt(0).putInt(1).putInt(0).putDouble(0.5);
    CRC32C sum = new CRC32C();
    sum.update(expected.array(), 0, expected.position());
    expected.putInt((int) sum.getValue());
    assertThat(Files.readAllBytes(saved))
        .isEqualTo(Arrays.copyOf(expected.array(), expected.position()));
  }

  @Test
  void aFileWithAnyByteChangedOrTruncatedIsRefused() throws IOException {
    GraphFile.save(
        BipartiteGraph.of(
            edges(IdMap.Kind.TEXT, "a,b,0.5\nc,d\n"), EdgeLoader.DuplicatePolicy.LAST),
        saved);
    byte[] bytes = Files.readAllBytes(saved);
    for (int i = 0; i < bytes.length; i++) {
      byte[] damaged = bytes.clone();
      damaged[i] ^= 4;
      Files.write(saved, damaged);
      assertThatIllegalArgumentException().isThrownBy(() -> GraphFile.loadBipartiteGraph(saved));
      Files.write(saved, Arrays.copyOf(bytes, i));
      assertThatIllegalArgumentException().isThrownBy(() -> GraphFile.loadBipartiteGraph(saved));
    }
  }

  @Test
  void aFileOfAnotherKindIsRefused() {
    GraphFile.save(
        BipartiteGraph.of(edges(IdMap.Kind.NUMBER, "1,2\n"), EdgeLoader.DuplicatePolicy.LAST),
        saved);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GraphFile.loadDigraph(saved))
        .withMessage(saved + " must have the kind 2, got 1");
  }

  @Test
  void anUnwritablePathIsReported() {
    BipartiteGraph graph =
        BipartiteGraph.of(edges(IdMap.Kind.NUMBER, "1,2\n"), EdgeLoader.DuplicatePolicy.LAST);
    Path nowhere = folder.resolve("none/graph");
    assertThatThrownBy(() -> GraphFile.save(graph, nowhere))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessage("cannot write " + nowhere + ": no such file or directory");
    Path directory = folder.resolve("directory");
    assertThat(directory.toFile().mkdir()).isTrue();
    assertThatThrownBy(() -> GraphFile.save(graph, directory))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessage(
            "cannot write %s: it must be a regular file or not exist, got a directory"
                .formatted(directory));
    assertThat(directory).isEmptyDirectory();
    assertThat(folder).isDirectoryNotContaining("glob:**.partial-*");
  }
}
