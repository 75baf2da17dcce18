// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class RandomSplitTest {
  private static final int MAX_SIZE = 2_147_483_639;

  @Test
  void partsAreSlicesOfThePermutation() {
    assertThat(RandomSplit.byLengths(new long[] {3, 7}, 1))
        .containsExactly(new long[] {5, 6, 1}, new long[] {2, 0, 8, 9, 3, 7, 4});
  }

  @Test
  void leftoversOfFractionsGoToTheFirstParts() {
    assertThat(RandomSplit.byFractions(106, new double[] {.1, .2, .3, .4}, 0))
        .extracting(part -> part.length)
        .containsExactly(11, 22, 31, 42);
  }

  @Test
  void anEmptyDatasetHasEmptyParts() {
    assertThat(RandomSplit.byFractions(0, new double[] {0.5, 0.5}, 0))
        .containsExactly(new long[0], new long[0]);
    assertThat(RandomSplit.byLengths(new long[0], 0)).isEmpty();
  }

  @Test
  void fractionsRoundedAboveOneSplitTheWholeDataset() {
    double[] fractions = {0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 4e-10};
    assertThat(RandomSplit.byFractions(1000, fractions, 0).stream().mapToInt(p -> p.length).sum())
        .isEqualTo(1000);
  }

  @Test
  void argumentsOutOfRangeAreRefused() {
    assertRefused(() -> RandomSplit.byLengths(new long[] {3, -1}, 0), "-1 at position 1");
    assertRefused(
        () -> RandomSplit.byLengths(new long[] {5, MAX_SIZE - 4}, 0), "2147483635 at position 1");
    assertRefused(() -> RandomSplit.byLengths(new long[] {5, Long.MAX_VALUE}, 0), "at position 1");
    assertRefused(() -> RandomSplit.byFractions(-1, new double[] {1}, 0), "datasetSize");
    assertRefused(() -> RandomSplit.byFractions(MAX_SIZE + 1L, new double[] {1}, 0), "datasetSize");
    assertRefused(() -> RandomSplit.byFractions(9, new double[] {1.5, -0.5}, 0), "1.5");
    assertRefused(() -> RandomSplit.byFractions(9, new double[] {Double.NaN}, 0), "NaN");
    assertRefused(() -> RandomSplit.byFractions(9, new double[] {0.5, 0.4}, 0), "sum to 1");
    assertRefused(() -> RandomSplit.byFractions(9, new double[] {}, 0), "sum to 1");
  }

  private static void assertRefused(Runnable call, String... parts) {
    assertThatIllegalArgumentException()
        .isThrownBy(call::run)
        .satisfies(e -> assertThat(e.getMessage()).contains(parts));
  }
}
