// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Tests of how long a member takes its coordinator to be silent. */
class CoordinatorSilenceTest {
  private static final long MILLI = 1_000_000;

  private final AtomicLong nanos = new AtomicLong();
  private final CoordinatorLink.Silence silence = new CoordinatorLink.Silence(nanos::get);

  private long after(long millis, int messages) {
    nanos.addAndGet(millis * MILLI);
    return silence.millis(messages);
  }

  @Test
  void aPauseOfTheMemberItselfIsNoSilenceOfTheCoordinator() {
    assertThat(after(200, 1)).isZero();
    assertThat(after(200, 1)).isEqualTo(200);
    assertThat(after(3_600_000, 1)).isEqualTo(1200); // as much as one look may take
    assertThat(after(200, 2)).isZero();
  }

  @Test
  void aCoordinatorThatSaysNothingIsSilent() {
    after(200, 1);
    for (int i = 1; i <= 60; i++) {
      assertThat(after(200, 1)).isEqualTo(200L * i);
    }
  }
}
