// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A condition whose waiters look for themselves for a few milliseconds before they sleep until they
 * are woken. Waking a thread of an idle processor takes its waker as long as copying a batch;
 * looking takes the waiter's own time, of which it has enough. For the holder of the lock.
 */
final class DozingCondition {
  private static final long SHORTEST_NAP = TimeUnit.MICROSECONDS.toNanos(50);
  private static final long ASLEEP_AFTER = TimeUnit.MILLISECONDS.toNanos(10);
  private static final int NAPS_OF_WAIT = 16; // a nap is this part of the wait so far

  private final Condition condition;
  private final boolean naps;
  private int asleep;

  /**
   * A condition.
   *
   * @param naps false where no processor is idle: a nap would only disturb who is at work
   */
  DozingCondition(Lock lock, boolean naps) {
    this.condition = lock.newCondition();
    this.naps = naps;
  }

  /**
   * Waits a while, after which the caller looks again.
   *
   * @param waited nanoseconds that the caller has waited before
   * @param most nanoseconds that it waits at most
   */
  void await(long waited, long most) throws InterruptedException {
    if (naps && waited < ASLEEP_AFTER) {
      nap(Math.min(most, Math.max(SHORTEST_NAP, waited / NAPS_OF_WAIT)));
      return;
    }
    asleep++;
    try {
      nap(most);
    } finally {
      asleep--;
    }
  }

  @SuppressWarnings("WaitNotInLoop") // the caller is the loop
  private void nap(long nanos) throws InterruptedException {
    condition.awaitNanos(nanos);
  }

  /** There is something for one waiter: wakes one if any sleeps. */
  void changedForOne() {
    if (asleep > 0) {
      condition.signal();
    }
  }

  /** There may be something for all waiters: wakes them if any sleeps. */
  void changedForAll() {
    if (asleep > 0) {
      condition.signalAll();
    }
  }

  /** There is something for one waiter, at once. */
  void wakeOne() {
    condition.signal();
  }

  /** There may be something for all waiters, at once. */
  void wakeAll() {
    condition.signalAll();
  }
}
