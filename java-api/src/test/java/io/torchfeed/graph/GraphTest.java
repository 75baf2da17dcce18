// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.Lines;
import io.torchfeed.text.TextPartition;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class GraphTest {
  private static final String REPEATED = "5,9,1\n5,7,2\n3,9,4\n5,9,8\n5,9,16\n";

  private final Path folder;

  GraphTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private EdgeLoader loader(int worldSize, LinePattern pattern, String content) {
    Path file = Lines.file(folder, "edges", content);
    return EdgeLoader.over(
            TextPartition.plan(Lines.names(file), worldSize, pattern.blocksPerRank()))
        .pattern(pattern)
        .build();
  }

  private Edges edges(String content) {
    return loader(1, LinePattern.EDGES_BY_SOURCE, content).load(0, AllToAll.alone());
  }

  private static List<String> cells(IdMap rows, IdMap columns, CsrMatrix cells) {
    List<String> texts = new ArrayList<>();
    cells.forEach((r, c, value) -> texts.add(rows.name(r) + " " + columns.name(c) + " " + value));
    return texts;
  }

  @Nested
  class Bigraphs {
    @Test
    void leftVerticesAndDistinctEdgesAreCounted() {
      BipartiteGraph graph = BipartiteGraph.of(edges(REPEATED), EdgeLoader.DuplicatePolicy.LAST);
      assertThat(graph.left().size()).isEqualTo(2);
      assertThat(graph.right().size()).isEqualTo(2);
      assertThat(graph.edges().entries()).isEqualTo(3);
      assertThat(graph.degree(graph.left().numberOf(5))).isEqualTo(2);
      assertThat(cells(graph.left(), graph.right(), graph.edges()))
          .containsExactly("3 9 4.0", "5 7 2.0", "5 9 16.0");
    }

    @ParameterizedTest
    @CsvSource({"SUM, '5 7 2.0,5 9 25.0'", "KEEP, '5 7 2.0,5 9 1.0,5 9 8.0,5 9 16.0'"})
    void repeatedEdgesFollowThePolicy(EdgeLoader.DuplicatePolicy duplicates, String expected) {
      BipartiteGraph graph = BipartiteGraph.of(edges(REPEATED), duplicates);
      assertThat(cells(graph.left(), graph.right(), graph.edges()).stream().skip(1))
          .containsExactly(expected.split(",", -1));
    }

    @Test
    void repeatedEdgesMayBeRefused() {
      Edges edges = edges(REPEATED);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> BipartiteGraph.of(edges, EdgeLoader.DuplicatePolicy.REFUSE))
          .withMessageContaining("several from 5 to 9");
    }
  }

  @Nested
  class Digraphs {
    @Test
    void digraphsHaveAllEndpointsAsVerticesAndAReverse() {
      Digraph graph =
          Digraph.of(edges("1,2,3\n1,5,4\n5,5,1\n1,2,9\n"), EdgeLoader.DuplicatePolicy.LAST);
      assertThat(graph.vertices().size()).isEqualTo(3);
      int one = graph.vertices().numberOf(1);
      int two = graph.vertices().numberOf(2);
      int five = graph.vertices().numberOf(5);
      assertThat(graph.outDegree(one)).isEqualTo(2);
      assertThat(graph.outDegree(two)).isZero();
      assertThat(graph.inDegree(two)).isEqualTo(1);
      assertThat(graph.inDegree(five)).isEqualTo(2);
      assertThat(graph.averageDegree()).isEqualTo(1.0);
      assertThat(cells(graph.vertices(), graph.vertices(), graph.reverse()))
          .containsExactly("2 1 9.0", "5 1 4.0", "5 5 1.0");
    }

    @Test
    void averageDegreesAreNotTruncated() {
      assertThat(Digraph.of(edges("1,2\n1,3\n"), EdgeLoader.DuplicatePolicy.LAST).averageDegree())
          .isEqualTo(2.0 / 3);
      assertThat(Digraph.of(edges(""), EdgeLoader.DuplicatePolicy.LAST).averageDegree()).isZero();
    }
  }

  @Nested
  class UndirectedGraphs {
    @Test
    void edgesAreStoredInBothDirectionsAndLoopsOnce() {
      UndirectedGraph graph =
          UndirectedGraph.of(
              edges("1,2,3\n2,1,4\n3,3,5\n2,3,6\n"), EdgeLoader.DuplicatePolicy.LAST);
      assertThat(cells(graph.vertices(), graph.vertices(), graph.neighbours()))
          .containsExactly("1 2 4.0", "2 1 4.0", "2 3 6.0", "3 2 6.0", "3 3 5.0");
      assertThat(graph.edgeCount()).isEqualTo(3);
      assertThat(graph.degree(graph.vertices().numberOf(3))).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 7})
    void eachVertexHasAllItsEdges(int worldSize) {
      StringBuilder content = new StringBuilder();
      for (int i = 0; i < 300; i++) {
        content
            .append(i * i % 41)
            .append(',')
            .append(i * 5 % 37)
            .append(',')
            .append(i)
            .append('\n');
      }
      UndirectedGraph whole =
          UndirectedGraph.of(edges(content.toString()), EdgeLoader.DuplicatePolicy.LAST);
      EdgeLoader loader = loader(worldSize, LinePattern.EDGES_BY_SOURCE, content.toString());
      List<UndirectedGraph> parts =
          LocalRanks.run(
              worldSize,
              (rank, exchange) ->
                  UndirectedGraph.of(
                      loader.loadBothEnds(rank, exchange), EdgeLoader.DuplicatePolicy.LAST));
      List<String> united = new ArrayList<>();
      int owned = 0;
      for (UndirectedGraph part : parts) {
        united.addAll(cells(part.vertices(), part.vertices(), part.neighbours()));
        for (int v = 0; v < part.vertices().size(); v++) {
          owned += part.isOwned(v) ? 1 : 0;
          int degree = whole.degree(whole.vertices().numberOf(part.vertices().id(v)));
          assertThat(part.degree(v)).isEqualTo(part.isOwned(v) ? degree : 0);
        }
      }
      assertThat(owned).isEqualTo(whole.vertices().size());
      assertThat(united)
          .containsExactlyInAnyOrderElementsOf(
              cells(whole.vertices(), whole.vertices(), whole.neighbours()));
    }

    @Test
    void bothEndpointsAreRequired() {
      EdgeLoader loader = loader(2, LinePattern.EDGES_BY_SOURCE, "1,2\n");
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      2,
                      (rank, exchange) ->
                          UndirectedGraph.of(
                              loader.load(rank, exchange), EdgeLoader.DuplicatePolicy.LAST)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("edges must come from loadBothEnds");
    }
  }

  @Nested
  class Matrices {
    @Test
    void repeatedCellsAreSummed() {
      SparseMatrix matrix = SparseMatrix.of(edges(REPEATED), AllToAll.alone());
      assertThat(cells(matrix.rowIds(), matrix.columnIds(), matrix.cells()))
          .containsExactly("3 9 4.0", "5 7 2.0", "5 9 25.0");
    }

    @ParameterizedTest
    @EnumSource(
        value = LinePattern.class,
        names = {"EDGES_BY_SOURCE", "EDGES_BY_TARGET", "EDGES_BY_BLOCK"})
    void sharedRowsAndColumnsAreNumberedAlikeOnAllRanks(LinePattern pattern) {
      StringBuilder content = new StringBuilder();
      Map<String, Double> sums = new TreeMap<>();
      for (int i = 0; i < 400; i++) {
        int row = i * i % 43;
        int column = i * 3 % 31;
        content.append(row).append(',').append(column).append(',').append(i).append('\n');
        sums.merge(row + " " + column, (double) i, Double::sum);
      }
      EdgeLoader loader = loader(6, pattern, content.toString());
      List<SparseMatrix> parts =
          LocalRanks.run(
              6, (rank, exchange) -> SparseMatrix.of(loader.load(rank, exchange), exchange));
      ProcessGrid grid = ProcessGrid.of(pattern, 6);
      Map<String, Double> seen = new TreeMap<>();
      for (int rank = 0; rank < 6; rank++) {
        SparseMatrix part = parts.get(rank);
        for (int other = 0; other < 6; other++) {
          if (grid.isSameRow(rank, other)) {
            assertThat(part.rowIds()).isEqualTo(parts.get(other).rowIds());
          }
          if (grid.isSameColumn(rank, other)) {
            assertThat(part.columnIds()).isEqualTo(parts.get(other).columnIds());
          }
        }
        part.cells()
            .forEach(
                (r, c, v) ->
                    assertThat(seen.put(part.rowIds().name(r) + " " + part.columnIds().name(c), v))
                        .isNull());
      }
      assertThat(seen).isEqualTo(sums);
    }
  }

  @Nested
  class DenseRowsOfFvec {
    private DenseRows rows(int worldSize, int rank, ErrorPolicy onError, String content) {
      Path file = Lines.file(folder, "rows", content);
      TextPartition plan =
          TextPartition.plan(Lines.names(file), worldSize, LinePattern.ROWS.blocksPerRank());
      return DenseRows.read(plan, rank, LineParser.separatedBy(","), onError);
    }

    @Test
    void rowsAreTheLinesOfTheRank() {
      String content = "a,1,2\nb,3,4\nc,5,6\nb,7,8\n";
      DenseRows rows = rows(2, 1, ErrorPolicy.FAIL, content);
      assertThat(rows.ids()).containsExactly("c", "b");
      assertThat(rows.rows()).isEqualTo(2);
      assertThat(rows.width()).isEqualTo(2);
      assertThat(rows.values()).containsExactly(5, 6, 7, 8);
      assertThat(rows.value(1, 0)).isEqualTo(7);
      assertThatThrownBy(() -> rows.value(0, 2)).isInstanceOf(IndexOutOfBoundsException.class);
      for (int row : new int[] {-1, 2, 1 << 30, (1 << 30) + 1, Integer.MIN_VALUE}) {
        assertThatThrownBy(() -> rows.value(row, 1))
            .isInstanceOf(IndexOutOfBoundsException.class)
            .hasMessage("row must be in [0, 1], got %d".formatted(row));
      }
    }

    @Test
    void allRowsHaveTheWidthOfTheFirstLine() {
      String content = "a,1,2\nb,3\nc,5,6,7\nd,x,1\n\ne,8,9\n";
      DenseRows rows = rows(1, 0, ErrorPolicy.COLLECT, content);
      assertThat(rows.ids()).containsExactly("a", "e");
      assertThat(rows.errors().listed())
          .extracting(LineOptions.LineError::lineNumber)
          .containsExactly(2L, 3L, 4L, 5L);
      assertThat(rows(3, 2, ErrorPolicy.SKIP, content).width()).isEqualTo(2);
      assertThatThrownBy(() -> rows(1, 0, ErrorPolicy.FAIL, content))
          .isInstanceOf(LineException.class)
          .hasMessageContaining(
              "line 2, byte 6: a row must have 2 values, like the first one, got 1");
      assertThat(rows(2, 0, ErrorPolicy.FAIL, "").rows()).isZero();
    }

    @Test
    void linesUpToTheLimitAreAccepted() {
      Path file = Lines.file(folder, "rows", "a,1,2\nb,3,4\n");
      TextPartition plan =
          TextPartition.plan(Lines.names(file), 1, LinePattern.ROWS.blocksPerRank());
      LineParser comma = LineParser.separatedBy(",");
      LineOptions lines = LineOptions.defaults();
      assertThat(
              DenseRows.read(plan, 0, comma, ErrorPolicy.FAIL, lines.withMaxLineBytes(5)).values())
          .containsExactly(1, 2, 3, 4);
      assertThatThrownBy(
              () -> DenseRows.read(plan, 0, comma, ErrorPolicy.SKIP, lines.withMaxLineBytes(4)))
          .isInstanceOf(LineException.class)
          .hasMessageContaining("a line must have at most 4 bytes");
    }
  }

  @Nested
  class Rows {
    @Test
    void rowsAreTransposed() {
      BipartiteGraph graph =
          BipartiteGraph.of(edges("1,9,1\n2,8,2\n1,8,3\n4,9,4\n"), EdgeLoader.DuplicatePolicy.LAST);
      CsrMatrix turned = graph.edges().transposed();
      assertThat(turned.rowStarts()).containsExactly(0, 2, 4);
      assertThat(turned.columnIndices()).containsExactly(0, 1, 0, 2);
      assertThat(turned.values()).containsExactly(3, 2, 1, 4);
      assertThat(turned.transposed()).isEqualTo(graph.edges());
      assertThat(turned.columns()).isEqualTo(3);
    }

    @Test
    void accessorsReturnCopies() {
      CsrMatrix rows = BipartiteGraph.of(edges("1,9,1\n"), EdgeLoader.DuplicatePolicy.LAST).edges();
      rows.values()[0] = 7;
      rows.columnIndices()[0] = 7;
      rows.rowStarts()[0] = 7;
      assertThat(rows.value(0)).isEqualTo(1);
      assertThat(rows.column(0)).isZero();
      assertThat(rows.start(0)).isZero();
      assertThat(rows.find(0, 0)).isZero();
      assertThat(rows.find(0, 5)).isEqualTo(-1);
    }
  }
}
