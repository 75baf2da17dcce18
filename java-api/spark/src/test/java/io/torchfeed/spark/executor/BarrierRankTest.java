// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BarrierRankTest {
  @Test
  void hostsAreFoundInAddressesOfBothFamilies() {
    assertThat(BarrierRank.hostOf("worker-1:4040")).isEqualTo("worker-1");
    assertThat(BarrierRank.hostOf("[::1]:4040")).isEqualTo("::1");
  }
}
