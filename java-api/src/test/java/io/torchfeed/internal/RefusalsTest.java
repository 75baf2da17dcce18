// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RefusalsTest {
  private final List<String> notes = new ArrayList<>();
  private final Refusals refusals = new Refusals(notes::add, 5);

  @Test
  void thoseAfterTheFirstOfAnIntervalAreCounted() {
    long interval = Refusals.INTERVAL.toNanos();
    for (int i = 0; i < 1000; i++) {
      refusals.add("a stranger", 5 + interval - 1);
    }
    assertThat(notes).hasSize(Refusals.MOST).containsOnly("a stranger");
    refusals.tick(5 + interval);
    assertThat(notes)
        .hasSize(Refusals.MOST + 1)
        .endsWith("984 more connections were refused within 10 s");
    refusals.tick(5 + 3 * interval);
    refusals.add("another", 5 + 3 * interval);
    assertThat(notes).hasSize(Refusals.MOST + 2).endsWith("another");
  }
}
