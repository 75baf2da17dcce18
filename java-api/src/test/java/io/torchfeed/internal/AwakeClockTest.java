// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class AwakeClockTest {
  private final AtomicLong nanos = new AtomicLong(-50);
  private final AwakeClock clock = new AwakeClock(100, nanos::get);

  private long after(long passed) {
    nanos.addAndGet(passed);
    return clock.now();
  }

  @Test
  void whatPassesBetweenTwoLooksCountsUpToALimit() {
    assertThat(clock.now()).isZero();
    assertThat(after(60)).isEqualTo(60);
    assertThat(after(100)).isEqualTo(160);
    assertThat(after(1_000_000)).isEqualTo(260);
    assertThat(after(1)).isEqualTo(261);
  }

  @Test
  void aLateLookIsKnownForSomeTime() {
    after(100);
    assertThat(clock.wasLate(1000)).isFalse();
    after(101);
    assertThat(clock.wasLate(0)).isTrue();
    after(30);
    assertThat(clock.wasLate(30)).isTrue();
    assertThat(clock.wasLate(29)).isFalse();
  }
}
