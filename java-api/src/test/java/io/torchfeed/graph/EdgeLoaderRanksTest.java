// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static io.torchfeed.graph.LoadedEdges.alone;
import static io.torchfeed.graph.LoadedEdges.texts;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of ranks, here threads, that exchange the edges of a file. */
@Timeout(60)
class EdgeLoaderRanksTest {
  private final Path folder;

  EdgeLoaderRanksTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private EdgeLoader.Builder over(int worldSize, String content) {
    return LoadedEdges.over(folder, worldSize, content);
  }

  private static List<List<String>> ofEach(int worldSize, EdgeLoader loader) {
    return LocalRanks.run(worldSize, (rank, exchange) -> texts(loader.load(rank, exchange)));
  }

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
    EdgeLoader loader = over(2, "1,1,1e-300\n0,1,0.1\n2,1,1e-7\n3,2,123456789.123456789\n").build();
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
                        EdgeLoader.over(TextPartition.plan(Lines.names(rank == 0 ? one : other), 2))
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
