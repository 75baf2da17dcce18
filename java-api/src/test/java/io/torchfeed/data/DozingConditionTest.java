// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a test may spin
class DozingConditionTest {
  private final ReentrantLock lock = new ReentrantLock();
  private final List<Thread> waiters = new ArrayList<>();
  private final BlockingQueue<Thread> gone = new LinkedBlockingQueue<>();
  private DozingCondition condition = new DozingCondition(lock, false);
  private boolean dozesOn; // however long it waits
  private int permits; // of the holder of the lock

  /** Starts a thread that wants a permit, and comes back when it waits for one. */
  private void startWaiter() {
    Thread waiter =
        new Thread(
            () -> {
              lock.lock();
              try {
                long start = System.nanoTime();
                while (permits == 0) {
                  condition.await(dozesOn ? 0 : System.nanoTime() - start, Long.MAX_VALUE);
                }
                permits--;
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              } finally {
                lock.unlock();
              }
              gone.add(Thread.currentThread());
            });
    waiter.setDaemon(true);
    waiter.start();
    waiters.add(waiter);
    while (waiter.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }

  private void permit(int number, Consumer<DozingCondition> telling) {
    lock.lock();
    try {
      permits = number;
      telling.accept(condition);
    } finally {
      lock.unlock();
    }
  }

  private boolean oneGoes() throws InterruptedException {
    return gone.poll(20, TimeUnit.SECONDS) != null;
  }

  @AfterEach
  void letAllGo() throws InterruptedException {
    permit(waiters.size(), DozingCondition::wakeAll);
    for (Thread waiter : waiters) {
      waiter.join();
    }
  }

  @Test
  void aWaiterThatDozesLooksForItself() throws Exception {
    condition = new DozingCondition(lock, true);
    dozesOn = true;
    startWaiter();
    permit(1, told -> {});
    assertThat(oneGoes()).isTrue();
  }

  static Stream<Consumer<DozingCondition>> waysToTell() {
    return Stream.of(
        DozingCondition::changedForOne,
        DozingCondition::changedForAll,
        DozingCondition::wakeOne,
        DozingCondition::wakeAll);
  }

  @ParameterizedTest
  @MethodSource("waysToTell")
  void aWaiterThatSleepsIsWoken(Consumer<DozingCondition> telling) throws Exception {
    startWaiter();
    permit(1, telling);
    assertThat(oneGoes()).isTrue();
  }

  @Test
  void allThatSleepAreWoken() throws Exception {
    startWaiter();
    startWaiter();
    permit(2, DozingCondition::changedForAll);
    assertThat(oneGoes()).isTrue();
    assertThat(oneGoes()).isTrue();
  }

  @Test
  void somethingForOneWakesOne() throws Exception {
    startWaiter();
    startWaiter();
    permit(2, DozingCondition::changedForOne); // so that the other could go if it were woken
    assertThat(oneGoes()).isTrue();
    assertThat(gone.poll(50, TimeUnit.MILLISECONDS)).isNull();
  }

  @Test
  void aWaitEndsAtItsLimit() throws Exception {
    lock.lock();
    try {
      condition.await(0, 1);
      condition.await(Long.MAX_VALUE, 1);
    } finally {
      lock.unlock();
    }
  }
}
