// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.CollectiveInterruptedException;
import io.torchfeed.testing.ThreadStop;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TimeLimitedCallTest {
  private static final Duration LONG = Duration.ofHours(1);

  private final BlockingQueue<String> undone = new LinkedBlockingQueue<>();

  private String await(Supplier<String> call, Duration limit) throws TimeoutException {
    return new TimeLimitedCall<>("a call", call, undone::add).await(limit);
  }

  private static String block(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return "late";
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void sneak(Throwable failure) throws E {
    throw (E) failure;
  }

  @Test
  void resultsAndExceptionsArePropagated() throws Exception {
    assertThat(await(() -> "done", LONG)).isEqualTo("done");
    RuntimeException failure = new UnsupportedOperationException("no");
    assertThatThrownBy(
            () ->
                await(
                    () -> {
                      throw failure;
                    },
                    LONG))
        .isSameAs(failure);
  }

  @Test
  void errorsAndCheckedExceptionsAreWrapped() {
    for (Throwable failure : new Throwable[] {new ThreadDeath(), new IOException("pipe")}) {
      assertThatIllegalStateException()
          .isThrownBy(
              () ->
                  await(
                      () -> {
                        TimeLimitedCallTest.<RuntimeException>sneak(failure);
                        return "";
                      },
                      LONG))
          .withMessage("a call failed with " + failure)
          .withCause(failure);
    }
  }

  @Test
  @DisabledForJreRange(min = JRE.JAVA_20, disabledReason = "Thread.stop does nothing there")
  void stoppingABlockedThreadFailsTheCaller() {
    Thread thief =
        new Thread(
            () -> {
              try {
                ThreadStop.waiting("a call");
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    thief.start();
    assertThatIllegalStateException()
        .isThrownBy(() -> await(() -> block(new CountDownLatch(1)), LONG))
        .withCauseInstanceOf(ThreadDeath.class);
  }

  @Test
  void aLateResultIsUndone() throws Exception {
    assertThatExceptionOfType(TimeoutException.class)
        .isThrownBy(() -> await(() -> block(new CountDownLatch(1)), Duration.ofMillis(20)));
    assertThat(undone.take()).isEqualTo("late");
  }

  @Test
  void anInterruptedCallerGivesUp() throws Exception {
    Thread.currentThread().interrupt();
    assertThatExceptionOfType(CollectiveInterruptedException.class)
        .isThrownBy(() -> await(() -> block(new CountDownLatch(1)), LONG))
        .withMessage("the thread was interrupted while it waited for the other ranks");
    assertThat(Thread.interrupted()).isTrue();
    assertThat(undone.take()).isEqualTo("late");
  }
}
