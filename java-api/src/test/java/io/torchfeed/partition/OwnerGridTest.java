// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OwnerGridTest {
  @ParameterizedTest
  @CsvSource({
    "FSMAP, 10, 2, 5", "FSMAP, 7, 7, 1", "FSMAP, 6, 2, 3", "FSMAP, 8, 2, 4", "FSMAP, 9, 3, 3",
    "FSMAP, 1, 1, 1", "SMAP, 6, 1, 6", "FMAP, 6, 6, 1", "FSET, 6, 6, 1", "FVEC, 6, 6, 1"
  })
  void theGridOfAPattern(LinePattern pattern, int worldSize, int rows, int columns) {
    assertThat(OwnerGrid.of(pattern, worldSize)).isEqualTo(new OwnerGrid(rows, columns));
  }

  @Test
  void idsOwnTheRowAndTheColumn() {
    assertThat(OwnerGrid.of(LinePattern.FMAP, 2).owner(3, 7)).isEqualTo(1);
    assertThat(OwnerGrid.of(LinePattern.SMAP, 2).owner(3, 6)).isZero();
    assertThat(OwnerGrid.of(LinePattern.FSMAP, 6).owner(3, 7)).isEqualTo(4);
  }

  @Test
  void hashesAreUnsigned() {
    assertThat(OwnerGrid.of(LinePattern.FMAP, 7).owner(-1, 0)).isEqualTo(1); // 2^64 - 1 = 7k + 1
  }

  @Test
  void argumentsAreChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> OwnerGrid.of(LinePattern.FMAP, 0))
        .withMessage("worldSize must be at least 1, got 0");
    assertThatIllegalArgumentException().isThrownBy(() -> new OwnerGrid(1 << 16, 1 << 16));
  }
}
