// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.text.Lines;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of files with a valid checksum and invalid content, as another program may write. */
class GraphFileStructureTest {
  private final Path folder;
  private final Path saved;

  GraphFileStructureTest(@TempDir Path folder) {
    this.folder = folder;
    saved = folder.resolve("saved");
  }

  private enum Kind {
    BIGRAPH,
    BIGRAPH_OF_TEXTS,
    DIGRAPH,
    MATRIX,
    UNDIRECTED,
    DENSE;

    Edges edges(Path folder, boolean bothEnds) {
      Path file = Lines.file(folder, "edges", "1,2,3\n2,40\n5,5\n3,6,0.5\n6,1\n10,2\n");
      EdgeLoader loader =
          EdgeLoader.over(TextPartition.plan(Lines.names(file), 2))
              .ids(this == BIGRAPH_OF_TEXTS ? IdMap.Kind.TEXT : IdMap.Kind.NUMBER)
              .build();
      return LocalRanks.run(
              2,
              (rank, exchange) ->
                  bothEnds ? loader.loadBothEnds(rank, exchange) : loader.load(rank, exchange))
          .get(0);
    }

    byte[] save(Path folder, Path saved) throws IOException {
      switch (this) {
        case BIGRAPH, BIGRAPH_OF_TEXTS ->
            GraphFile.save(
                BipartiteGraph.of(edges(folder, false), EdgeLoader.DuplicatePolicy.KEEP), saved);
        case DIGRAPH ->
            GraphFile.save(
                Digraph.of(edges(folder, false), EdgeLoader.DuplicatePolicy.KEEP), saved);
        case MATRIX -> {
          Path file = Lines.file(folder, "cells", "1,2,3\n2,40\n5,5\n");
          Edges edges =
              EdgeLoader.over(TextPartition.plan(Lines.names(file), 1))
                  .build()
                  .load(0, AllToAll.alone());
          GraphFile.save(SparseMatrix.of(edges, AllToAll.alone()), saved);
        }
        case UNDIRECTED ->
            GraphFile.save(
                UndirectedGraph.of(edges(folder, true), EdgeLoader.DuplicatePolicy.LAST), saved);
        case DENSE -> {
          Path file = Lines.file(folder, "rows", "b,1,2\na,3,4\nb,5,6\n");
          TextPartition plan =
              TextPartition.plan(Lines.names(file), 1, LinePattern.ROWS.blocksPerRank());
          GraphFile.save(
              DenseRows.read(plan, 0, LineParser.separatedBy(","), ErrorPolicy.FAIL), saved);
        }
      }
      return Files.readAllBytes(saved);
    }

    /** Loads the graph and uses all of it. */
    void loadAndWalk(Path saved) {
      switch (this) {
        case BIGRAPH, BIGRAPH_OF_TEXTS -> {
          BipartiteGraph graph = GraphFile.loadBipartiteGraph(saved);
          requireConsistent(graph.left());
          requireConsistent(graph.right());
          requireConsistent(graph.edges(), graph.left().size(), graph.right().size());
        }
        case DIGRAPH -> {
          Digraph graph = GraphFile.loadDigraph(saved);
          requireConsistent(graph.vertices());
          requireConsistent(graph.edges(), graph.vertices().size(), graph.vertices().size());
          requireConsistent(graph.reverse(), graph.vertices().size(), graph.vertices().size());
        }
        case MATRIX -> {
          SparseMatrix matrix = GraphFile.loadMatrix(saved);
          requireConsistent(matrix.rowIds());
          requireConsistent(matrix.columnIds());
          requireConsistent(matrix.cells(), matrix.rowIds().size(), matrix.columnIds().size());
        }
        case UNDIRECTED -> {
          UndirectedGraph graph = GraphFile.loadUndirected(saved);
          requireConsistent(graph.vertices());
          requireConsistent(graph.neighbours(), graph.vertices().size(), graph.vertices().size());
          for (int i = 0; i < graph.vertices().size(); i++) {
            assertThat(graph.isOwned(i) || graph.degree(i) == 0).isTrue();
          }
        }
        case DENSE -> {
          DenseRows rows = GraphFile.loadDense(saved);
          assertThat(rows.width()).isNotNegative();
          assertThat(rows.valuesView().limit()).isEqualTo(rows.rows() * rows.width());
          assertThat(rows.ids()).noneMatch(id -> id.contains("\ufffd"));
        }
      }
    }
  }

  private static void requireConsistent(IdMap ids) {
    for (int i = 0; i < ids.size(); i++) {
      assertThat(ids.numberOf(ids.name(i))).isEqualTo(i);
    }
  }

  private static void requireConsistent(CsrMatrix cells, int rows, int columns) {
    assertThat(cells.rows()).isEqualTo(rows);
    assertThat(cells.columns()).isEqualTo(columns);
    assertThat(cells.rowStartsView().get(0)).isZero();
    assertThat(cells.rowStartsView().get(rows)).isEqualTo(cells.entries());
    for (int row = 0; row < rows; row++) {
      assertThat(cells.end(row)).isGreaterThanOrEqualTo(cells.start(row));
      for (int at = cells.start(row); at < cells.end(row); at++) {
        assertThat(cells.column(at))
            .isBetween(at > cells.start(row) ? cells.column(at - 1) : 0, columns - 1);
      }
    }
  }

  private void write(byte[] content) throws IOException {
    CRC32C sum = new CRC32C();
    sum.update(content, 0, content.length - Integer.BYTES);
    ByteBuffer.wrap(content)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(content.length - Integer.BYTES, (int) sum.getValue());
    Files.write(saved, content);
  }

  private void assertRefusedOrConsistent(Kind kind, byte[] content) throws IOException {
    write(content);
    try {
      kind.loadAndWalk(saved);
    } catch (IllegalArgumentException e) {
      assertThat(e).hasMessageStartingWith(saved + " must have ");
    }
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void aFileWithAnyNumberChangedIsRefusedOrConsistent(Kind kind) throws IOException {
    byte[] content = kind.save(folder, saved);
    for (int at = 0; at < content.length - 2 * Integer.BYTES; at++) {
      for (int mask : new int[] {1, 0x80, 0xff}) {
        byte[] changed = content.clone();
        changed[at] ^= (byte) mask;
        assertRefusedOrConsistent(kind, changed);
      }
      for (int number : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
        ByteBuffer changed = ByteBuffer.wrap(content.clone()).order(ByteOrder.LITTLE_ENDIAN);
        assertRefusedOrConsistent(kind, changed.putInt(at, number).array());
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "12|7|ids of kind 0 or 1, got 7",
        "16|-1|the bytes of -1 numbers",
        "20|7|ascending ids, got number 0 not below number 1",
        "60|3|2 x 2 cells, to match its ids, got 3 x 2",
        "68|-1|the bytes of -1 numbers",
        "72|1|row starts from 0 to the number of entries, 2, got 1 to 2",
        "76|3|ascending row starts, got 3 before 2",
        "76|-1|ascending row starts, got 0 before -1",
        "80|1|row starts from 0 to the number of entries, 2, got 0 to 1",
        "84|2|columns in [0, 1], got 2",
        "88|-1|columns in [0, 1], got -1"
      })
  void theViolatedRuleIsReported(int offset, int number, String rule) throws IOException {
    Path file = Lines.file(folder, "edges", "5,8\n7,9\n");
    Edges edges =
        EdgeLoader.over(TextPartition.plan(Lines.names(file), 1)).build().load(0, AllToAll.alone());
    GraphFile.save(BipartiteGraph.of(edges, EdgeLoader.DuplicatePolicy.LAST), saved);
    ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(saved)).order(ByteOrder.LITTLE_ENDIAN);
    write(content.putInt(offset, number).array());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GraphFile.loadBipartiteGraph(saved))
        .withMessage(saved + " must have " + rule);
  }

  @Test
  void columnsOfARowMustAscend() throws IOException {
    Path file = Lines.file(folder, "edges", "5,8\n5,9\n");
    Edges edges =
        EdgeLoader.over(TextPartition.plan(Lines.names(file), 1)).build().load(0, AllToAll.alone());
    GraphFile.save(BipartiteGraph.of(edges, EdgeLoader.DuplicatePolicy.LAST), saved);
    byte[] content = Files.readAllBytes(saved);
    content[content.length - 4 - 16 - 8] = 1;
    content[content.length - 4 - 16 - 4] = 0;
    write(content);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GraphFile.loadBipartiteGraph(saved))
        .withMessage(saved + " must have ascending columns in each row, got 1 before 0 in row 0");
  }

  @Test
  void rowsOfVerticesNotOwnedByTheRankMustBeEmpty() throws IOException {
    byte[] content = Kind.UNDIRECTED.save(folder, saved);
    UndirectedGraph graph = GraphFile.loadUndirected(saved);
    int vertex = 0;
    while (graph.degree(vertex) == 0) {
      vertex++;
    }
    content[8 + 4 + 4 + 4 + 8 * graph.vertices().size() + vertex] = 0;
    write(content);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GraphFile.loadUndirected(saved))
        .withMessage(
            "%s must have no edges at vertices that the rank does not own, got one at %d",
            saved, vertex);
  }
}
