// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of computations beside their caller. */
@Timeout(20)
class AsideTest {
  private static final String NAME = "torchfeed-aside";

  @Test
  void theResultIsThatOfAnotherThread() throws IOException {
    try (Aside<String> aside = Aside.start(NAME, stop -> Thread.currentThread().getName())) {
      assertThat(aside.await()).isEqualTo(NAME);
      assertThat(aside.await()).isEqualTo(NAME);
    }
  }

  @Test
  void closeStopsTheComputationAndWaitsForItsEnd() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicBoolean isEnded = new AtomicBoolean();
    Aside<String> aside =
        Aside.start(
            NAME,
            isStopped -> {
              begun.countDown();
              while (!isStopped.getAsBoolean()) {
                Thread.onSpinWait();
              }
              LockSupport.parkNanos(20_000_000);
              isEnded.set(true);
              throw new IOException("stopped");
            });
    begun.await();
    Thread.currentThread().interrupt();
    aside.close();
    assertThat(isEnded).isTrue();
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void aFailureIsThrownByAwait() {
    try (Aside<String> aside =
        Aside.start(
            NAME,
            isStopped -> {
              throw new IllegalStateException("for a test");
            })) {
      assertThatExceptionOfType(IOException.class)
          .isThrownBy(aside::await)
          .withMessage("for a test")
          .withCauseInstanceOf(IllegalStateException.class);
    }
  }
}
