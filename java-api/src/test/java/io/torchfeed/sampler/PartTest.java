// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PartTest {
  @ParameterizedTest
  @CsvSource({"3, -1, 2", "3, 3, 2", "2, 2, 1", "1, 1, 0", "2147483647, 2147483647, 2147483646"})
  void ranksOutsideTheWorldAreRefused(int worldSize, int rank, int last) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Part(worldSize, rank))
        .withMessage(
            "Invalid rank %d, rank should be in the interval [0, %d]; worldSize is %d and rank is %d",
            rank, last, worldSize, rank);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
  void worldSizesBelowOneAreRefused(int worldSize) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Part(worldSize, 0))
        .withMessage(
            "worldSize must be at least 1, got %d; worldSize is %d and rank is 0",
            worldSize, worldSize);
  }

  @ParameterizedTest
  @CsvSource({
    "2, 4, 'Invalid rank 4, rank should be in the interval [0, 1]'",
    "0, 4, 'worldSize must be at least 1, got 0'"
  })
  void swappedValuesAreNamed(int first, int second, String rule) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Part(first, second))
        .withMessage(
            "%s; worldSize is %d and rank is %d, or if they are swapped, Part.rank(%d).of(%d)",
            rule, first, second, first, second);
  }

  @Test
  void theWholeIsThePartOfASingleProcess() {
    assertThat(Part.whole()).isEqualTo(new Part(1, 0));
  }

  @Test
  void aRankIsFollowedByItsWorldSize() {
    assertThat(Part.rank(2).of(4)).isEqualTo(new Part(4, 2));
    assertThatIllegalArgumentException().isThrownBy(() -> Part.rank(4).of(4));
  }

  @Test
  void textNamesTheRankAndTheNumberOfRanks() {
    assertThat(new Part(4, 2)).hasToString("rank 2 of 4");
  }

  @Test
  void parametersHoldTheWorldSizeAndTheRankInThisOrder() {
    assertThat(PlanParameters.of("kind").with("seed", 7).with(new Part(4, 2)))
        .isEqualTo(PlanParameters.of("kind").with("seed", 7).with("worldSize", 4).with("rank", 2));
    assertThat(PlanParameters.of("kind").with(new Part(4, 2)).values())
        .hasToString("{worldSize=4, rank=2}");
  }
}
