// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The stream of SplitMix64. */
class SplitMixTest {
  @Test
  void theStreamIsThatOfTheJavaPlatform() {
    SplitMix ours = new SplitMix(42);
    SplittableRandom platform = new SplittableRandom(42);
    for (int i = 0; i < 1000; i++) {
      assertThat(ours.nextLong()).isEqualTo(platform.nextLong());
    }
  }

  @Test
  void drawsBelowASmallRangeReachAllNumbersAlike() {
    assertThat(remainders(3)).allSatisfy(count -> assertThat(count).isBetween(9_600, 10_400));
  }

  @Test
  void drawsBelowARangeThatDoesNotDivideTheWordsReachAllNumbersAlike() {
    // Without a second draw three of eight words would give 0, three 1 and two 2.
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
