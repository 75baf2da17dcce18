// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Tests of the SplitMix64 stream. */
class SplitMixTest {
  @Test
  void theStreamEqualsThatOfSplittableRandom() {
    SplitMix ours = new SplitMix(42);
    SplittableRandom platform = new SplittableRandom(42);
    for (int i = 0; i < 1000; i++) {
      assertThat(ours.nextLong()).isEqualTo(platform.nextLong());
    }
  }

  @Test
  void drawsFromASmallRangeAreUniform() {
    assertThat(remainders(3)).allSatisfy(count -> assertThat(count).isBetween(9_600, 10_400));
  }

  @Test
  void drawsFromARangeThatDoesNotDivideTheWordsAreUniform() {
    // Without rejection, three of eight words would yield 0, three 1 and two 2.
    assertThat(remainders(3L << 61))
        .allSatisfy(count -> assertThat(count).isBetween(9_600, 10_400));
  }

  private static List<Integer> remainders(long range) {
    SplitMix stream = new SplitMix(7);
    Integer[] drawn = {0, 0, 0};
    for (int i = 0; i < 30_000; i++) {
      drawn[(int) (stream.nextBelow(range) % 3)]++;
    }
    return List.of(drawn);
  }
}
