// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.testing.ThreadStop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // tests may spin
class HandOffTest {
  private static final long LONG = TimeUnit.MINUTES.toNanos(1);

  private final HandOff handOff = new HandOff(false);
  private final List<Thread> waiters = new ArrayList<>();
  private final BlockingQueue<Thread> gone = new LinkedBlockingQueue<>();
  private int permits; // Guarded by handOff.
  private boolean ended; // Guarded by handOff.

  /** Starts a worker that takes a permit; returns once it is parked or polling, as requested. */
  private Thread startWorker(boolean parked) throws InterruptedException {
    Thread worker =
        new Thread(
            () -> {
              HandOff.Waiter waiter = handOff.worker(() -> permits > 0 || ended);
              for (boolean taken = false; !taken; ) {
                waiter.awaitWork();
                synchronized (handOff) {
                  taken = permits > 0 || ended;
                  permits -= permits > 0 ? 1 : 0;
                }
              }
              gone.add(Thread.currentThread());
            });
    worker.setDaemon(true);
    worker.start();
    waiters.add(worker);
    Thread.State state = parked ? Thread.State.WAITING : Thread.State.TIMED_WAITING;
    while (parked ? !isParkedForLong(worker) : worker.getState() != state) {
      Thread.sleep(1);
    }
    return worker;
  }

  /** Polls last at most 10 ms / 16, so a thread that stays in one wait for 50 ms is parked. */
  private static boolean isParkedForLong(Thread worker) throws InterruptedException {
    Thread.sleep(50);
    return worker.getState() == Thread.State.TIMED_WAITING
        || worker.getState() == Thread.State.WAITING;
  }

  @Test
  void theTimeOfWaitsAddsUpUntilItIsTaken() throws InterruptedException {
    HandOff.Waiter waiter = handOff.consumer(() -> permits > 0);
    long limit = TimeUnit.MILLISECONDS.toNanos(3);
    assertThat(waiter.await(limit)).isFalse();
    assertThat(waiter.await(limit)).isFalse();
    assertThat(waiter.takeWaitedNanos()).isGreaterThanOrEqualTo(2 * limit);
    permit(1, HandOff::completed);
    assertThat(waiter.await(limit)).isTrue();
    assertThat(waiter.takeWaitedNanos()).isZero();
  }

  private void permit(int number, Consumer<HandOff> signal) {
    synchronized (handOff) {
      permits = number;
      signal.accept(handOff);
    }
  }

  private Thread next() throws InterruptedException {
    return gone.poll(20, TimeUnit.SECONDS);
  }

  @AfterEach
  void endAll() throws InterruptedException {
    synchronized (handOff) {
      ended = true;
      handOff.interrupt();
    }
    for (Thread waiter : waiters) {
      waiter.join();
    }
  }

  @Test
  void aPollingWaiterNeedsNoSignal() throws Exception {
    startWorker(false);
    permit(1, none -> {});
    assertThat(next()).isNotNull();
  }

  static Stream<Consumer<HandOff>> signals() {
    return Stream.of(
        handOff -> handOff.submitted(false),
        handOff -> handOff.submitted(true),
        HandOff::interrupt);
  }

  @ParameterizedTest
  @MethodSource("signals")
  void aParkedWorkerIsNotified(Consumer<HandOff> signal) throws Exception {
    startWorker(true);
    permit(1, signal);
    assertThat(next()).isNotNull();
  }

  @Test
  void aSubmissionNotifiesOneWorker() throws Exception {
    startWorker(true);
    startWorker(true);
    permit(2, handOff -> handOff.submitted(false)); // the other could continue if it were notified
    assertThat(next()).isNotNull();
    assertThat(gone.poll(50, TimeUnit.MILLISECONDS)).isNull();
  }

  @Test
  void aSignalOfAStoppedWorkerPassesToAnother() throws Exception {
    Thread first = startWorker(true);
    startWorker(true);
    synchronized (handOff) {
      ThreadStop.stop(first); // it cannot return before the monitor is free
      permits = 1;
      handOff.submitted(false);
    }
    assertThat(next()).isEqualTo(waiters.get(1));
  }

  @Test
  void aConsumerIsNotifiedOfAResult() throws Exception {
    Thread consumer =
        new Thread(
            () -> {
              if (handOff.consumer(() -> permits > 0).awaitUninterruptibly(LONG)) {
                gone.add(Thread.currentThread());
              }
            });
    consumer.start();
    waiters.add(consumer);
    Thread.sleep(50);
    permit(1, HandOff::completed);
    assertThat(next()).isEqualTo(consumer);
  }

  @Test
  void aConsumerPollsForAnUnsignalledChange() throws Exception {
    Thread setter =
        new Thread(
            () -> {
              synchronized (handOff) {
                permits = 1;
              }
            });
    waiters.add(setter);
    setter.start();
    assertThat(handOff.consumer(() -> permits > 0).await(LONG)).isTrue();
  }

  @Test
  void aWaitEndsAtItsTimeout() throws Exception {
    assertThat(handOff.consumer(() -> false).await(1)).isFalse();
    assertThat(handOff.consumer(() -> false).awaitUninterruptibly(30_000_000)).isFalse();
  }

  @Test
  void anInterruptEndsAnInterruptibleWaitAndIsOtherwiseKept() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> handOff.consumer(() -> false).await(LONG))
        .isInstanceOf(InterruptedException.class);
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
    Thread.currentThread().interrupt();
    assertThat(handOff.consumer(() -> false).awaitUninterruptibly(1_000_000)).isFalse();
    assertThat(Thread.interrupted()).isTrue();
  }
}
