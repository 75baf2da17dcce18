// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DozingConditionTest {
  private static final long UNTIL_ASLEEP_MILLIS = 30;

  private final ReentrantLock lock = new ReentrantLock();
  private final DozingCondition condition = new DozingCondition(lock, true);
  private final List<Thread> waiters = new ArrayList<>();
  private int permits; // of the holder of the lock
  private boolean open; // of the holder of the lock

  private void startWaiter() {
    Thread waiter =
        new Thread(
            () -> {
              lock.lock();
              try {
                long start = System.nanoTime();
                while (permits == 0 && !open) {
                  condition.await(System.nanoTime() - start, Long.MAX_VALUE);
                }
                permits--;
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              } finally {
                lock.unlock();
              }
            });
    waiter.setDaemon(true);
    waiter.start();
    waiters.add(waiter);
  }

  private void locked(Runnable action) {
    lock.lock();
    try {
      action.run();
    } finally {
      lock.unlock();
    }
  }

  /** How many waiters are still there when as many as may have gone. */
  private long left(int gone) throws InterruptedException {
    while (waiters.stream().filter(Thread::isAlive).count() > waiters.size() - gone) {
      Thread.sleep(1);
    }
    return waiters.stream().filter(Thread::isAlive).count();
  }

  @AfterEach
  void letAllGo() throws InterruptedException {
    locked(
        () -> {
          open = true;
          condition.wakeAll();
        });
    for (Thread waiter : waiters) {
      waiter.join();
    }
  }

  @Test
  void aWaiterThatDozesLooksForItself() throws Exception {
    startWaiter();
    locked(() -> permits = 1);
    assertThat(left(1)).isZero();
  }

  @Test
  void aWaiterThatSleepsIsWoken() throws Exception {
    startWaiter();
    Thread.sleep(UNTIL_ASLEEP_MILLIS);
    locked(
        () -> {
          permits = 1;
          condition.changedForOne();
        });
    assertThat(left(1)).isZero();
  }

  @Test
  void allThatSleepAreWoken() throws Exception {
    startWaiter();
    startWaiter();
    Thread.sleep(UNTIL_ASLEEP_MILLIS);
    locked(
        () -> {
          open = true;
          condition.changedForAll();
        });
    assertThat(left(2)).isZero();
  }

  @Test
  void somethingForOneIsForOne() throws Exception {
    startWaiter();
    startWaiter();
    Thread.sleep(UNTIL_ASLEEP_MILLIS);
    locked(
        () -> {
          permits = 1;
          condition.wakeOne();
        });
    assertThat(left(1)).isOne();
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
