// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessGridTest {
  @ParameterizedTest
  @CsvSource({
    "EDGES_BY_BLOCK, 10, 2, 5", "EDGES_BY_BLOCK, 7, 7, 1", "EDGES_BY_BLOCK, 6, 2, 3",
        "EDGES_BY_BLOCK, 8, 2, 4", "EDGES_BY_BLOCK, 9, 3, 3",
    "EDGES_BY_BLOCK, 1, 1, 1", "EDGES_BY_TARGET, 6, 1, 6", "EDGES_BY_SOURCE, 6, 6, 1",
        "ADJACENCY, 6, 6, 1", "ROWS, 6, 6, 1"
  })
  void aPatternDeterminesTheGrid(LinePattern pattern, int worldSize, int rows, int columns) {
    assertThat(ProcessGrid.of(pattern, worldSize)).isEqualTo(new ProcessGrid(rows, columns));
  }

  @Test
  void idsDetermineRowAndColumn() {
    assertThat(ProcessGrid.of(LinePattern.EDGES_BY_SOURCE, 2).owner(3, 7)).isEqualTo(1);
    assertThat(ProcessGrid.of(LinePattern.EDGES_BY_TARGET, 2).owner(3, 6)).isZero();
    assertThat(ProcessGrid.of(LinePattern.EDGES_BY_BLOCK, 6).owner(3, 7)).isEqualTo(4);
  }

  @Test
  void hashesAreUnsigned() {
    assertThat(ProcessGrid.of(LinePattern.EDGES_BY_SOURCE, 7).owner(-1, 0))
        .isEqualTo(1); // 2^64 - 1 = 7k + 1
  }

  @Test
  void argumentsAreChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ProcessGrid.of(LinePattern.EDGES_BY_SOURCE, 0))
        .withMessage("worldSize must be at least 1, got 0");
    assertThatIllegalArgumentException().isThrownBy(() -> new ProcessGrid(1 << 16, 1 << 16));
  }
}
