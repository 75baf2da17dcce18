// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a rank was delivered, as one number. */
class OrderDigestTest {
  @Test
  void theDigestOfOneTwoThreeHasItsPublishedValueHoweverItWasGrouped() {
    OrderDigest whole = new OrderDigest();
    whole.add(new long[] {9, 1, 2, 3, 9}, 1, 3);
    assertThat(whole.value()).isEqualTo(0xD0734750FDE362B3L);
    OrderDigest parts = new OrderDigest();
    parts.add(new long[] {1}, 0, 1);
    parts.add(new long[0], 0, 0);
    parts.add(new long[] {2, 3}, 0, 2);
    assertThat(parts.value()).isEqualTo(whole.value());
  }

  @Test
  void ordersOfTheSameSamplesDiffer() {
    OrderDigest one = new OrderDigest();
    one.add(new long[] {1, 2}, 0, 2);
    OrderDigest other = new OrderDigest();
    other.add(new long[] {2, 1}, 0, 2);
    assertThat(one.value()).isNotEqualTo(other.value());
  }

  @ParameterizedTest
  @CsvSource({"-1, 1", "0, 3", "2, 1", "0, -1", "2147483647, 1"})
  void rangesThatDoNotFitAreRefused(int from, int count) {
    OrderDigest digest = new OrderDigest();
    assertThatThrownBy(() -> digest.add(new long[2], from, count))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThat(digest.value()).isZero();
  }
}
