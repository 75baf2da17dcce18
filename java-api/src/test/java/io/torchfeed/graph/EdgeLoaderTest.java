// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.Lines;
import io.torchfeed.text.TextFileException;
import io.torchfeed.text.TextPartition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
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
    Path file = Lines.file(folder, "edges", content);
    return EdgeLoader.over(
        TextPartition.plan(
            Lines.names(file), worldSize, LinePattern.EDGES_BY_SOURCE.blocksPerRank()));
  }

  private static List<String> texts(Edges edges) {
    List<String> texts = new ArrayList<>();
    edges.forEach(
        (a, b, weight) ->
            texts.add(edges.firstIds().name(a) + " " + edges.secondIds().name(b) + " " + weight));
    return texts;
  }

  private static List<String> alone(EdgeLoader.Builder builder) {
    return texts(builder.build().load(0, AllToAll.alone()));
  }

  private static List<List<String>> ofEach(int worldSize, EdgeLoader loader) {
    return LocalRanks.run(worldSize, (rank, exchange) -> texts(loader.load(rank, exchange)));
  }

  @Nested
  class OneLine {
    @Test
    void twoFieldsAreAnUnweightedEdge() {
      assertThat(alone(over(1, "1,2\n1,3:0.5\n1,4|2\n1,5 3\n1,6:7:8\n")))
          .containsExactly("1 2 1.0", "1 3 0.5", "1 4 2.0", "1 5 3.0", "1 6 7.0");
    }

    /** Expects what str_split and lines_organize of Paracel d1548dd return for these fields. */
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
  class WrongLines {
    private static final String CONTENT = "1,2\nx,2\n3\n4,5,6,7\n\n8,9,w\n10,11:\n1,2,3\n";

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void wrongLinesAreCountedAndSkipped(int worldSize) {
      EdgeLoader loader = over(worldSize, CONTENT).onError(EdgeLoader.ErrorPolicy.SKIP).build();
      List<Edges> edges = LocalRanks.run(worldSize, loader::load);
      assertThat(edges.stream().mapToLong(Edges::size).sum()).isEqualTo(2);
      assertThat(edges.stream().mapToLong(e -> e.errors().count()).sum()).isEqualTo(6);
      assertThat(edges).allSatisfy(e -> assertThat(e.errors().listed()).isEmpty());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void wrongLinesAreListedWithTheirPositions(int worldSize) {
      EdgeLoader loader = over(worldSize, CONTENT).onError(EdgeLoader.ErrorPolicy.COLLECT).build();
      List<LineOptions.LineError> errors =
          LocalRanks.run(worldSize, loader::load).stream()
              .flatMap(e -> e.errors().listed().stream())
              .toList();
      assertThat(errors)
          .extracting(LineOptions.LineError::lineNumber)
          .containsExactly(2L, 3L, 4L, 5L, 6L, 7L);
      assertThat(errors)
          .extracting(LineOptions.LineError::offset)
          .containsExactly(4L, 8L, 10L, 18L, 19L, 25L);
      assertThat(errors)
          .extracting(LineOptions.LineError::text)
          .containsExactly("x,2", "3", "4,5,6,7", "", "8,9,w", "10,11:");
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
                  over(1, "1,2:1,3:x\n")
                      .pattern(LinePattern.ADJACENCY)
                      .onError(EdgeLoader.ErrorPolicy.SKIP)))
          .isEmpty();
    }
  }

  @Nested
  class Ranks {
    private String content(IdMap.Kind kind) {
      StringBuilder lines = new StringBuilder();
      for (int i = 0; i < 500; i++) {
        String prefix = kind == IdMap.Kind.TEXT ? "v" : "";
        lines.append("%s%d,%s%d,%s\n".formatted(prefix, i * i % 83, prefix, i * 7 % 59, i / 3.0));
      }
      return lines.toString();
    }

    @ParameterizedTest
    @EnumSource(
        value = LinePattern.class,
        names = {"EDGES_BY_SOURCE", "EDGES_BY_TARGET", "EDGES_BY_BLOCK"})
    void ranksHaveExactlyTheEdgesThatTheyOwn(LinePattern pattern) {
      for (IdMap.Kind kind : IdMap.Kind.values()) {
        for (IdMap.Hash hash : IdMap.Hash.values()) {
          List<String> all = alone(over(1, content(kind)).ids(kind));
          for (int worldSize : List.of(2, 3, 6)) {
            ProcessGrid grid = ProcessGrid.of(pattern, worldSize);
            EdgeLoader loader =
                over(worldSize, content(kind)).ids(kind).hash(hash).pattern(pattern).build();
            List<List<String>> ofEach = ofEach(worldSize, loader);
            for (int rank = 0; rank < worldSize; rank++) {
              int mine = rank;
              assertThat(ofEach.get(rank))
                  .isEqualTo(all.stream().filter(e -> owner(e, grid, kind, hash) == mine).toList());
            }
          }
        }
      }
    }

    private int owner(String edge, ProcessGrid grid, IdMap.Kind kind, IdMap.Hash hash) {
      long[] hashes =
          Arrays.stream(edge.split(" ", 3))
              .limit(2)
              .mapToLong(id -> kind == IdMap.Kind.TEXT ? hash.of(id) : Long.parseLong(id))
              .toArray();
      return grid.owner(hashes[0], hashes[1]);
    }

    @Test
    void ranksHaveTheSameEdgesForAnyNumberOfRounds() {
      for (IdMap.Kind kind : IdMap.Kind.values()) {
        List<List<String>> inOne =
            ofEach(3, over(3, content(kind)).ids(kind).roundBytes(1 << 30).build());
        for (int bytes : List.of(1, 200, 3000)) {
          assertThat(ofEach(3, over(3, content(kind)).ids(kind).roundBytes(bytes).build()))
              .isEqualTo(inOne);
        }
      }
    }

    @Test
    void messagesAreBounded() {
      EdgeLoader loader = over(2, content(IdMap.Kind.NUMBER)).roundBytes(600).build();
      List<Integer> longest =
          LocalRanks.run(
              2,
              (rank, exchange) -> {
                int[] most = new int[1];
                loader.load(
                    rank,
                    messages -> {
                      most[0] =
                          Math.max(
                              most[0],
                              Arrays.stream(messages).mapToInt(m -> m.length).max().orElse(0));
                      return exchange.exchange(messages);
                    });
                return most[0];
              });
      assertThat(longest).allSatisfy(bytes -> assertThat(bytes).isBetween(300, 300 + 24));
    }

    @Test
    void weightsKeepAllDigits() {
      EdgeLoader loader =
          over(2, "1,1,1e-300\n0,1,0.1\n2,1,1e-7\n3,2,123456789.123456789\n").build();
      assertThat(ofEach(2, loader).stream().flatMap(List::stream))
          .containsExactlyInAnyOrder(
              "1 1 1.0E-300", "0 1 0.1", "2 1 1.0E-7", "3 2 1.2345678912345679E8");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void duplicateRanksAreRefusedOnAllRanks(int worldSize) {
      EdgeLoader loader = over(worldSize, content(IdMap.Kind.NUMBER)).build();
      List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      worldSize,
                      (rank, exchange) -> {
                        try {
                          return loader.load(rank == 1 ? 0 : rank, exchange);
                        } catch (RuntimeException e) {
                          failures.add(e);
                          throw e;
                        }
                      }))
          .isInstanceOf(ExchangeException.class);
      assertThat(failures)
          .hasSize(worldSize)
          .allSatisfy(
              e ->
                  assertThat(e)
                      .isInstanceOf(ExchangeException.class)
                      .hasMessage(
                          "each rank must load under its own number, but rank 1 loads as rank 0;"
                              + " pass load the rank of the exchange")
                      .extracting(failure -> ((ExchangeException) failure).rank())
                      .isEqualTo(1));
    }

    @Test
    void moreRanksThanTheExchangeHasAreRefused() {
      EdgeLoader loader = over(2, content(IdMap.Kind.NUMBER)).build();
      assertThatThrownBy(() -> loader.load(0, AllToAll.alone()))
          .isInstanceOf(ExchangeException.class)
          .hasMessageContaining("rank 1 loads as rank 0");
      assertThatThrownBy(() -> loader.load(0, messages -> new byte[][] {messages[0]}))
          .isInstanceOf(ExchangeException.class)
          .hasMessage("the exchange must have the 2 ranks of the plan, got 1");
    }

    @Test
    void ranksThatShareOneExchangeAreRefused() {
      EdgeLoader loader = over(2, content(IdMap.Kind.NUMBER)).build();
      List<AllToAll> exchanges = Collections.synchronizedList(new ArrayList<>());
      CyclicBarrier barrier = new CyclicBarrier(2);
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      2,
                      (rank, exchange) -> {
                        if (rank == 0) {
                          exchanges.add(exchange);
                        }
                        barrier.await();
                        return loader.load(rank, exchanges.get(0));
                      }))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("rank 0 is already exchanging");
    }

    @Test
    void ranksWithDifferentPlansAreRefused() {
      Path one = Lines.file(folder, "one", "1,2\n3,4\n");
      Path other = Lines.file(folder, "other", "1,2\n3,4,5\n");
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      2,
                      (rank, exchange) ->
                          EdgeLoader.over(
                                  TextPartition.plan(Lines.names(rank == 0 ? one : other), 2))
                              .build()
                              .load(rank, exchange)))
          .isInstanceOf(ExchangeException.class)
          .hasMessageContaining("all ranks must have the same files, plan and rules");
    }

    @Test
    void aDeadRankDoesNotBlockTheOthersIndefinitely() {
      EdgeLoader loader = over(3, content(IdMap.Kind.NUMBER)).roundBytes(100).build();
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      3,
                      (rank, exchange) -> {
                        int[] rounds = new int[1];
                        return loader.load(
                            rank,
                            messages -> {
                              if (rank == 1 && ++rounds[0] == 3) {
                                throw new AssertionError("rank 1 dies");
                              }
                              return exchange.exchange(messages);
                            });
                      }))
          .isInstanceOfSatisfying(ExchangeException.class, e -> assertThat(e.rank()).isEqualTo(1))
          .hasMessageContaining("rank 1 dies");
    }

    @Test
    void aFailureWithoutAMessageStillStopsTheOtherRanks() {
      LineParser mute =
          (line, start, end, fields) -> {
            throw new UnsupportedOperationException() {
              private static final long serialVersionUID = 1L;

              @Override
              public String getMessage() {
                throw new ArithmeticException("no message");
              }
            };
          };
      Path file = Lines.file(folder, "edges", "1,2\n");
      EdgeLoader loader =
          EdgeLoader.over(TextPartition.plan(Lines.names(file), 2)).parser(mute).build();
      List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
      Throwable thrown =
          catchThrowable(
              () ->
                  LocalRanks.run(
                      2,
                      (rank, exchange) -> {
                        try {
                          return loader.load(rank, exchange);
                        } catch (RuntimeException e) {
                          failures.add(e);
                          throw e;
                        }
                      }));
      assertThat(thrown instanceof UnsupportedOperationException).isTrue();
      assertThat(failures).hasSize(2);
      assertThat(failures.stream().filter(e -> e instanceof ExchangeException))
          .hasSize(1)
          .allSatisfy(e -> assertThat(e).hasMessageContaining("whose message cannot be read"));
    }

    @Test
    void aDeletedFileIsReported() throws Exception {
      EdgeLoader loader = over(2, content(IdMap.Kind.NUMBER)).build();
      Files.delete(folder.resolve("edges"));
      assertThatThrownBy(() -> LocalRanks.run(2, loader::load))
          .isInstanceOf(TextFileException.class)
          .hasMessageContaining("edges no longer exists");
    }

    @Test
    void ranksThatLeaveEarlyDoNotBlockTheOthers() {
      assertThatThrownBy(
              () ->
                  LocalRanks.run(
                      2,
                      (rank, exchange) ->
                          rank == 0 ? new byte[0][] : exchange.exchange(new byte[2][0])))
          .isInstanceOf(ExchangeException.class)
          .hasMessageContaining("ended while others were still exchanging");
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
