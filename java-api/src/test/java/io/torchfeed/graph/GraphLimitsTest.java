// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.text.Lines;
import io.torchfeed.text.TextPartition;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks of the arguments of graphs and their exchanges. */
class GraphLimitsTest {
  private final Path folder;

  GraphLimitsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private EdgeLoader loader(IdMap.Kind ids) {
    Path file = Lines.file(folder, "edges", "1,2\n3,4\n");
    return EdgeLoader.over(TextPartition.plan(Lines.names(file), 1)).ids(ids).build();
  }

  private BipartiteGraph graph(IdMap.Kind ids) {
    return BipartiteGraph.of(
        loader(ids).load(0, AllToAll.alone()), EdgeLoader.DuplicatePolicy.LAST);
  }

  @Test
  void ranksOfOneProcessAreLimited() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LocalRanks.run(1025, (rank, exchange) -> rank))
        .withMessage("worldSize must be in [1, 1024], got 1025");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LocalRanks.run(0, (rank, exchange) -> rank));
    assertThat(LocalRanks.run(100, (rank, exchange) -> rank)).hasSize(100);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 2, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void rowsThatDoNotExistAreRefused(int row) {
    CsrMatrix edges = graph(IdMap.Kind.NUMBER).edges();
    String message = "row must be in [0, 1], got %d".formatted(row);
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> edges.start(row))
        .withMessage(message);
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> edges.end(row))
        .withMessage(message);
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> edges.find(row, 0))
        .withMessage(message);
  }

  @ParameterizedTest
  @EnumSource(IdMap.Kind.class)
  void numbersThatDoNotExistHaveNoName(IdMap.Kind ids) {
    IdMap left = graph(ids).left();
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> left.name(-1))
        .withMessageStartingWith("number must be in [0, 1], got -1");
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> left.name(2))
        .withMessageStartingWith("number must be in [0, 1], got 2");
  }

  @Test
  @SuppressWarnings("NullAway") // a rank can be written without null checks
  void aMessageThatIsNullIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> LocalRanks.run(2, (rank, ranks) -> ranks.exchange(new byte[][] {{}, null})))
        .withMessage("messages must hold one for each of 2 ranks, got null for rank 1");
  }

  @Test
  @SuppressWarnings("NullAway") // an exchange can be written without null checks
  void anExchangeThatReturnsNullIsNamed() {
    EdgeLoader loader = loader(IdMap.Kind.NUMBER);
    assertThatExceptionOfType(ExchangeException.class)
        .isThrownBy(() -> loader.load(0, messages -> null))
        .withMessage("the AllToAll must return a message from each of 1 ranks, got null");
    assertThatExceptionOfType(ExchangeException.class)
        .isThrownBy(() -> loader.load(0, messages -> new byte[1][]))
        .withMessage("the AllToAll must return a message from rank 0, got null");
    Edges edges = loader.load(0, AllToAll.alone());
    assertThatExceptionOfType(ExchangeException.class)
        .isThrownBy(() -> SparseMatrix.of(edges, messages -> null))
        .withMessage("the AllToAll must return a message from each of 1 ranks, got null");
  }
}
