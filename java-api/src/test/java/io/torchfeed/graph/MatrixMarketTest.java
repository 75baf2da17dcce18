// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The golden files come from scipy: {@code src/test/golden/python_matrix_market.py}. */
@Timeout(60)
class MatrixMarketTest {
  private static final Path GOLDEN = Path.of("src/test/resources/golden/matrix-market");
  private static final String HEAD = "%%MatrixMarket matrix coordinate real general\n% 7 7\n";

  private final Path folder;

  MatrixMarketTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static EdgeLoader.Builder over(int worldSize, Path... files) {
    List<String> names = List.of(files).stream().map(Path::toString).toList();
    return EdgeLoader.over(TextPartition.plan(names, worldSize, 4));
  }

  private Path file(String content) {
    try {
      return Files.writeString(folder.resolve("matrix.mtx"), content);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<String> load(int worldSize, EdgeLoader loader) {
    return LocalRanks.run(worldSize, loader::load).stream()
        .flatMap(edges -> LoadedEdges.texts(edges).stream())
        .toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "real.mtx",
        "integer.mtx",
        "pattern.mtx",
        "symmetric.mtx",
        "skew.mtx",
        "undirected.mtx",
        "empty.mtx",
        "blanks-odd.mtx",
        "packed.mtx.gz"
      })
  void entriesEqualThoseOfScipy(String name) throws IOException {
    List<String> expected = new ArrayList<>();
    for (String line : Files.readAllLines(GOLDEN.resolve("expected.txt"), UTF_8)) {
      if (line.startsWith(name + " ")) {
        int value = line.lastIndexOf(' ') + 1;
        expected.add(
            line.substring(name.length() + 1, value) + Double.valueOf(line.substring(value)));
      }
    }
    assertThat(expected.isEmpty()).isEqualTo(name.equals("empty.mtx"));
    for (int worldSize : new int[] {1, 2, 5}) {
      assertThat(load(worldSize, over(worldSize, GOLDEN.resolve(name)).build()))
          .containsExactlyInAnyOrderElementsOf(expected);
    }
  }

  @Test
  void atBothEndsASymmetricEntryIsOneEdge() {
    Path file = GOLDEN.resolve("undirected.mtx");
    UndirectedGraph graph =
        UndirectedGraph.of(
            over(1, file).build().loadBothEnds(0, AllToAll.alone()),
            EdgeLoader.DuplicatePolicy.REFUSE);
    assertThat(graph.edgeCount()).isEqualTo(44);
    assertThatThrownBy(
            () -> over(1, GOLDEN.resolve("skew.mtx")).build().loadBothEnds(0, AllToAll.alone()))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("skew.mtx, line 1, byte 0: the edges of a skew-symmetric matrix");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "matrix array real general; must begin with %%MatrixMarket matrix coordinate",
        "matrix coordinate complex general; followed by real, integer or pattern",
        "matrix coordinate complex hermitian; followed by real, integer or pattern",
        "matrix coordinate pattern skew-symmetric; or, with values, skew-symmetric",
        "vector coordinate real general; must begin with",
        "matrix coordinate real; must begin with",
      })
  void matricesThatAreNoEdgesAreRefused(String words, String problem) {
    assertThatThrownBy(
            () -> load(2, over(2, file("%%MatrixMarket " + words + "\n2 2 1\n1 1 1\n")).build()))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("matrix.mtx, line 1, byte 0")
        .hasMessageContaining(problem);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "3 3; line 3, byte 52: must be three numbers",
        "3 3 x; line 3, byte 52: must be three numbers",
        "3 -3 1; line 3, byte 52: must be three numbers",
        "'%'; line 1, byte 0: a line of sizes must follow, but the file ends",
      })
  void aHeadWithoutSizesIsRefused(String sizes, String problem) {
    assertThatThrownBy(() -> load(1, over(1, file(HEAD + sizes)).build()))
        .isInstanceOf(LineException.class)
        .hasMessageContaining(problem);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void allRanksNoticeALostOrAnAdditionalEntry(int worldSize) {
    for (String entries : new String[] {"", "1 1 1\n", "1 1 1\n2 2 2\n3 3 3\n"}) {
      EdgeLoader loader = over(worldSize, file(HEAD + "3 3 2\n" + entries)).build();
      List<Throwable> failures = new ArrayList<>();
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      worldSize,
                      (rank, exchange) -> {
                        try {
                          return loader.load(rank, exchange);
                        } catch (LineException e) {
                          synchronized (failures) {
                            failures.add(e);
                          }
                          throw e;
                        }
                      }))
          .hasMessageContaining("line 3, byte 52: 2 entries must follow, got ");
      assertThat(failures).hasSize(worldSize);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "4 1 1, 'an entry must be in [1, 3] x [1, 2], got (4, 1)'",
    "0 1 1, 'an entry must be in [1, 3] x [1, 2], got (0, 1)'",
    "1 3 1, 'an entry must be in [1, 3] x [1, 2], got (1, 3)'",
    "1  0  1, 'an entry must be in [1, 3] x [1, 2], got (1, 0)'",
    "1 2, 'a line must have 3 fields, got 2'",
    "1 2 3 4, 'a line must have 3 fields, got 4'",
    "1 2 nan, 'a weight must be a finite decimal number'",
  })
  void entriesThatCannotBeAreMalformedLines(String line, String problem) {
    Path file = file(HEAD + "3 2 2\n1 1 1\n" + line + "\n");
    assertThatThrownBy(() -> load(2, over(2, file).build()))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("line 5, byte 64: " + problem);
    assertThat(load(2, over(2, file).onError(ErrorPolicy.SKIP).build())).containsExactly("1 1 1.0");
  }

  @Test
  void aPatternHasNoValues() {
    Path file = file("%%matrixmarket Matrix COORDINATE pattern general\n3 3 1\n1 1 1\n");
    assertThatThrownBy(() -> load(1, over(1, file).build()))
        .hasMessageContaining("line 3, byte 55: a line must have 2 fields, got 3");
  }

  @Test
  void aMatrixIsTheOnlyFileOfAPlan() throws IOException {
    Path matrix = GOLDEN.resolve("real.mtx");
    Path edges = Files.writeString(folder.resolve("edges"), "1 2\n");
    for (Path[] files : new Path[][] {{matrix, edges}, {edges, matrix}}) {
      EdgeLoader loader = over(1, files).parser(LineParser.separatedBy(" ")).build();
      assertThatThrownBy(() -> load(1, loader))
          .isInstanceOf(LineException.class)
          .hasMessageContaining("real.mtx, line 1, byte 0: a Matrix Market file is a matrix of its")
          .hasMessageContaining("must be the only file of a plan");
    }
  }

  @Test
  void otherRulesThanThoseOfEntriesAreRefused() {
    Path file = GOLDEN.resolve("real.mtx");
    assertThatThrownBy(() -> load(1, over(1, file).ids(IdMap.Kind.TEXT).build()))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("got ids of kind TEXT");
    assertThatThrownBy(() -> load(1, over(1, file).mixed(true).build()))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("and mixed lines");
  }

  @Test
  void linesOfBlanksAreParsedAsBefore() {
    EdgeLoader loader =
        EdgeLoader.over(
                TextPartition.plan(List.of(file("1 2 3\n4\t5\n6  7\t\t8\n").toString()), 1, 1))
            .parser(LineParser.separatedBy(" \t"))
            .lines(LineOptions.defaults())
            .build();
    assertThat(load(1, loader)).containsExactly("1 2 3.0", "4 5 1.0", "6 7 8.0");
  }
}
