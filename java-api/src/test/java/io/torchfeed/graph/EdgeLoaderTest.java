// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static io.torchfeed.graph.LoadedEdges.alone;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class EdgeLoaderTest {
  private final Path folder;

  EdgeLoaderTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private EdgeLoader.Builder over(int worldSize, String content) {
    return LoadedEdges.over(folder, worldSize, content);
  }

  @Nested
  class OneLine {
    @Test
    void twoFieldsAreAnUnweightedEdge() {
      assertThat(alone(over(1, "1,2\n1,3:0.5\n1,4|2\n1,5 3\n1,6:7:8\n")))
          .containsExactly("1 2 1.0", "1 3 0.5", "1 4 2.0", "1 5 3.0", "1 6 7.0");
    }

    /** Expects the results of str_split and lines_organize of Paracel d1548dd for these fields. */
    @Test
    void separatorsRemainInAnIdWithoutAWeight() {
      List<String> fields =
          List.of("b", "b:", "b::", ":b", ":b:2", "b::2", "b:2:3", "b:|2", "b :2", "b:2:");
      assertThat(alone(over(1, "a," + String.join("\na,", fields)).ids(IdMap.Kind.TEXT)))
          .containsExactly(
              "a b 1.0",
              "a b: 1.0",
              "a b:: 1.0",
              "a :b 1.0",
              "a b 2.0",
              "a b 2.0",
              "a b 2.0",
              "a b 2.0",
              "a b 2.0",
              "a b 2.0");
      assertThat(alone(over(1, "a,b:,c|,d:2\n").ids(IdMap.Kind.TEXT).mixed(true)))
          .containsExactly("a b: 1.0", "a c| 1.0", "a d 2.0");
    }

    @Test
    void aTrailingSeparatorIsNotANumber() {
      assertThatThrownBy(() -> alone(over(1, "1,7:\n")))
          .isInstanceOf(LineException.class)
          .hasMessageContaining("an id must be a whole number")
          .hasMessageContaining("got \"7:\"");
    }

    @Test
    void aThirdFieldIsTheWeight() {
      assertThat(alone(over(1, "1,2,0.25\n18446744073709551615,0,-1e-9\n")))
          .containsExactly("1 2 0.25", "18446744073709551615 0 -1.0E-9");
    }

    @Test
    void aMixedLineHasAnEdgeForEachFurtherField() {
      assertThat(alone(over(1, "1,2,3\n4\n\n5,6:2,7|3,8\n9,1:4\n").mixed(true)))
          .containsExactly("1 2 1.0", "1 3 1.0", "5 6 2.0", "5 7 3.0", "5 8 1.0", "9 1 4.0");
    }

    @Test
    void aSetIsAlwaysMixed() {
      assertThat(alone(over(1, "1,2,3\n").pattern(LinePattern.ADJACENCY)))
          .containsExactly("1 2 1.0", "1 3 1.0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> over(1, "").pattern(LinePattern.ADJACENCY).mixed(false).build())
          .withMessageContaining("mixed must be true");
    }

    @Test
    void aCustomParserSplitsTheLine() {
      LineParser fixed =
          (line, start, end, fields) -> {
            if (end - start != 4) {
              throw new LineParser.MalformedLineException(
                  "a line must have 4 bytes, got " + (end - start));
            }
            fields.add(start, start + 2);
            fields.add(start + 2, end);
          };
      assertThat(alone(over(1, "1234\n5678\n").parser(fixed)))
          .containsExactly("12 34 1.0", "56 78 1.0");
      assertThatThrownBy(() -> alone(over(1, "1234\n56\n").parser(fixed)))
          .isInstanceOf(LineException.class)
          .hasMessageContaining(
              "edges, line 2, byte 5: a line must have 4 bytes, got 2, in \"56\"");
    }

    @Test
    void aParserThatLeavesItsLineIsRefused() {
      LineParser behind =
          (line, start, end, fields) -> {
            fields.add(start, end);
            fields.add(end + 1, end + 3);
          };
      assertThatThrownBy(() -> alone(over(1, "12\n34\n").parser(behind)))
          .isInstanceOf(LineException.class)
          .hasMessageContaining("edges, line 1, byte 0: field 1 must be within the line, whose")
          .hasMessageContaining("bytes are at [0, 2), got [3, 5); correct the LineParser");
      LineParser before = (line, start, end, fields) -> fields.add(start - 1, end);
      assertThatThrownBy(() -> alone(over(1, "12\n").parser(before)))
          .hasMessageContaining("got [-1, 2)");
      LineParser backwards = (line, start, end, fields) -> fields.add(end, start);
      assertThatThrownBy(() -> alone(over(1, "12\n").parser(backwards)))
          .hasMessageContaining("got [2, 0)");
    }

    @Test
    void customSeparatorsAreUsed() {
      assertThat(
              alone(
                  over(1, "a\tb=2\r\nc d=0.5\n")
                      .ids(IdMap.Kind.TEXT)
                      .parser(LineParser.separatedBy("\t "))
                      .valueSeparators("=")))
          .containsExactly("a b 2.0", "c d 0.5");
      assertThat(alone(over(1, "a:1,b:2\nc,d|3\n").ids(IdMap.Kind.TEXT).valueSeparators("")))
          .containsExactly("a:1 b:2 1.0", "c d|3 1.0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> LineParser.separatedBy(""))
          .withMessageContaining("separators must be one or more ASCII");
    }

    @Test
    void textIdsMayBeAnyUtf8() {
      String content = new String("żółw,x:1\nżółw,ü:2\n".getBytes(UTF_8), ISO_8859_1);
      assertThat(alone(over(1, content).ids(IdMap.Kind.TEXT)))
          .containsExactly("żółw x 1.0", "żółw ü 2.0");
    }
  }

  @Nested
  class SkippedLines {
    /** The beginning of SNAP's files, and other lines without an edge. */
    private static final String CONTENT =
        "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n\n \t\r\n%%MatrixMarket\t1\n  # 4\t5\n1\t2";

    @ParameterizedTest
    @EnumSource(IdMap.Kind.class)
    void commentsAndBlankLinesAreSkipped(IdMap.Kind ids) {
      for (int worldSize : new int[] {1, 2, 5}) {
        EdgeLoader loader =
            over(worldSize, CONTENT).ids(ids).parser(LineParser.separatedBy("\t")).build();
        List<Edges> edges = LocalRanks.run(worldSize, loader::load);
        assertThat(edges.stream().flatMap(e -> LoadedEdges.texts(e).stream()))
            .containsExactlyInAnyOrder("0 1 1.0", "1 2 1.0");
        assertThat(edges.stream().mapToLong(Edges::lines).sum()).isEqualTo(8);
        assertThat(edges).allSatisfy(e -> assertThat(e.errors().count()).isZero());
      }
    }

    @Test
    void otherCharactersOrNoneMarkComments() {
      String content = "#java,#scala\n;a,b\n1a,2\n";
      assertThat(alone(over(1, content).ids(IdMap.Kind.TEXT).comments("")))
          .containsExactly("#java #scala 1.0", ";a b 1.0", "1a 2 1.0");
      assertThat(alone(over(1, content).ids(IdMap.Kind.TEXT).comments(";1")))
          .containsExactly("#java #scala 1.0");
      assertThat(alone(over(1, "12,3\n4,5\n").comments("1"))).containsExactly("4 5 1.0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> over(1, "").comments("é").build())
          .withMessageContaining("comments must be one or more ASCII characters");
    }
  }

  @Nested
  class BlanksBetweenFields {
    private List<String> read(String separators, String content) {
      return alone(
          over(1, content).ids(IdMap.Kind.TEXT).parser(LineParser.separatedBy(separators)));
    }

    @Test
    void aRunOfBlanksIsOneSeparatorIfASpaceIsOne() {
      assertThat(read(" ", "0  1\n 1 2   0.5 \n")).containsExactly("0 1 1.0", "1 2 0.5");
      assertThat(read(" \t", "a \t b\n\tc\t\td\t7\n")).containsExactly("a b 1.0", "c d 7.0");
      assertThat(read(", ", "a, b\nc ,d , 3\n")).containsExactly("a b 1.0", "c d 3.0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\t\t3", "\tb", "a\t", "a\t \t3"})
    void anEmptyIdIsAWrongLine(String line) {
      assertThatThrownBy(() -> read("\t", line + "\n"))
          .isInstanceOf(LineException.class)
          .hasMessageContaining("line 1, byte 0: an id must not be empty");
    }
  }

  @Nested
  class WrongLines {
    private static final String CONTENT = "1,2\nx,2\n3\n4,5,6,7\n\n8,9,w\n10,11:\n1,2,3\n";

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void wrongLinesAreCountedAndSkipped(int worldSize) {
      EdgeLoader loader = over(worldSize, CONTENT).onError(ErrorPolicy.SKIP).build();
      List<Edges> edges = LocalRanks.run(worldSize, loader::load);
      assertThat(edges.stream().mapToLong(Edges::size).sum()).isEqualTo(2);
      assertThat(edges.stream().mapToLong(e -> e.errors().count()).sum()).isEqualTo(5);
      assertThat(edges).allSatisfy(e -> assertThat(e.errors().listed()).isEmpty());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void wrongLinesAreListedWithTheirPositions(int worldSize) {
      EdgeLoader loader = over(worldSize, CONTENT).onError(ErrorPolicy.COLLECT).build();
      List<LineOptions.LineError> errors =
          LocalRanks.run(worldSize, loader::load).stream()
              .flatMap(e -> e.errors().listed().stream())
              .toList();
      assertThat(errors)
          .extracting(LineOptions.LineError::lineNumber)
          .containsExactly(2L, 3L, 4L, 6L, 7L);
      assertThat(errors)
          .extracting(LineOptions.LineError::offset)
          .containsExactly(4L, 8L, 10L, 19L, 25L);
      assertThat(errors)
          .extracting(LineOptions.LineError::text)
          .containsExactly("x,2", "3", "4,5,6,7", "8,9,w", "10,11:");
      assertThat(errors).allSatisfy(e -> assertThat(e.path()).hasFileName("edges"));
    }

    @Test
    void aWrongLineEndsLoadingWithItsPosition() {
      assertThatThrownBy(() -> alone(over(1, CONTENT)))
          .isInstanceOfSatisfying(
              LineException.class,
              e -> {
                assertThat(e.error().lineNumber()).isEqualTo(2);
                assertThat(e).hasMessageContaining("line 2, byte 4: an id must be a whole number");
                assertThat(e).hasMessageEndingWith("in \"x,2\"");
              });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 5})
    void aWrongLineEndsLoadingOnAllRanks(int worldSize) {
      EdgeLoader loader =
          over(worldSize, "1,2\n".repeat(500) + "bad\n" + "3,4\n".repeat(500)).build();
      List<Throwable> failures = new ArrayList<>();
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      worldSize,
                      (rank, exchange) -> {
                        try {
                          return loader.load(rank, exchange);
                        } catch (RuntimeException e) {
                          synchronized (failures) {
                            failures.add(e);
                          }
                          throw e;
                        }
                      }))
          .isInstanceOf(LineException.class);
      assertThat(failures).hasSize(worldSize);
      assertThat(failures.stream().filter(e -> e instanceof ExchangeException))
          .hasSize(worldSize - 1)
          .allSatisfy(e -> assertThat(e).hasMessageContaining("line 501"));
    }

    @Test
    void textThatIsNotUtf8IsAWrongLine() {
      assertThatThrownBy(() -> alone(over(1, "a,b\na,\u00ff\n").ids(IdMap.Kind.TEXT)))
          .isInstanceOf(LineException.class)
          .hasMessageContaining("line 2, byte 4: an id must be UTF-8");
    }

    @Test
    void aWrongLineYieldsNoEdge() {
      assertThat(
              alone(
                  over(1, "1,2:1,3:x\n").pattern(LinePattern.ADJACENCY).onError(ErrorPolicy.SKIP)))
          .isEmpty();
    }
  }

  @Nested
  class Options {
    @Test
    void eachOptionCanBeSetOnce() {
      assertThatIllegalStateException()
          .isThrownBy(() -> over(1, "").ids(IdMap.Kind.TEXT).ids(IdMap.Kind.NUMBER))
          .withMessage("ids was already set to TEXT");
    }

    @Test
    void optionsAreChecked() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> over(1, "").pattern(LinePattern.ROWS))
          .withMessageContaining(
              "pattern must be EDGES_BY_SOURCE, EDGES_BY_TARGET, EDGES_BY_BLOCK or ADJACENCY");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> over(1, "").roundBytes(0))
          .withMessage("roundBytes must be at least 1, got 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> over(1, "").build().load(1, AllToAll.alone()))
          .withMessage("Invalid rank 1, rank should be in the interval [0, 0]");
    }
  }

  @Test
  void allOfManyIdsAreFound() {
    StringBuilder lines = new StringBuilder();
    IntStream.range(0, 20_000)
        .forEach(i -> lines.append(i * 3L).append(',').append(i * 5L % 60_000).append('\n'));
    Edges edges = over(1, lines.toString()).build().load(0, AllToAll.alone());
    assertThat(edges.firstIds().size()).isEqualTo(20_000);
    assertThat(edges.firstIds().id(19_999)).isEqualTo(59_997);
    assertThat(edges.firstIds().numberOf(300)).isEqualTo(100);
    assertThat(edges.firstIds().numberOf("300")).isEqualTo(100);
    assertThat(edges.firstIds().numberOf(301)).isEqualTo(-1);
    assertThat(edges.firstIds().numberOf("18446744073709551616")).isEqualTo(-1);
    assertThat(edges.secondIds().size()).isEqualTo(12_000);
  }
}
