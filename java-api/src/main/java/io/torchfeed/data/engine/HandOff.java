// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import java.util.ArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The waiting rule between the consumer of an engine and its workers. Its monitor guards the state
 * that both sides check.
 *
 * <p>Waking a parked thread costs its waker 10 to 130 us, as much as filling a small batch. A
 * waiter therefore polls for some milliseconds first, unless its last wait was longer, and is
 * notified only once it has parked. Polls can be 20 ms late on a busy host; therefore a thread that
 * is about to wait, and so has time to spare, first notifies the waiters of the other side whose
 * wait is over, and a submission also notifies a polling worker if the workers have fallen behind.
 *
 * <p>Threads wait outside the monitor. A thread that an error ends while it waits holds nothing,
 * and passes on any notification that it has received.
 */
final class HandOff {
  private static final long MIN_POLL_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
  private static final long PARK_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final int POLLS_OF_WAIT = 16; // a poll interval is this share of the wait so far

  /**
   * The interval at which a parked consumer checks by itself, as a worker may have died silently.
   */
  private static final long HEARTBEAT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final Side workers;
  private final Side consumers;

  /**
   * Creates a hand-off without waiters.
   *
   * @param idleProcessor whether a processor is free for a consumer that polls; otherwise polling
   *     would take time from the workers
   */
  public HandOff(boolean idleProcessor) {
    workers = new Side(true, Long.MAX_VALUE);
    consumers = new Side(idleProcessor, HEARTBEAT_NANOS);
  }

  /**
   * Returns the waiter of a worker.
   *
   * @param isOver returns whether a wait is over; called with the monitor held, by any thread
   */
  public Waiter worker(BooleanSupplier isOver) {
    return new Waiter(workers, consumers, isOver);
  }

  /**
   * Returns the waiter of a consumer.
   *
   * @param isOver returns whether a wait is over; called with the monitor held, by any thread
   */
  public Waiter consumer(BooleanSupplier isOver) {
    return new Waiter(consumers, workers, isOver);
  }

  /**
   * Notifies a worker of new work. The caller holds the monitor.
   *
   * @param isBehind whether workers have fallen behind, so that a polling one may be notified too
   */
  public void submitted(boolean isBehind) {
    workers.signal(isBehind, 1);
  }

  /** Notifies parked consumers of a result. The caller holds the monitor. */
  void completed() {
    consumers.signal(false, Integer.MAX_VALUE);
  }

  /** Notifies all waiters whose wait is over. The caller holds the monitor. */
  public void interrupt() {
    workers.signal(true, Integer.MAX_VALUE);
    consumers.signal(true, Integer.MAX_VALUE);
  }

  /** The waiters of one side. */
  private static final class Side {
    final boolean polls;
    final long maxParkNanos;
    final ArrayList<Waiter> waiting = new ArrayList<>();
    int waiters;

    Side(boolean polls, long maxParkNanos) {
      this.polls = polls;
      this.maxParkNanos = maxParkNanos;
    }

    void signal(boolean alsoPolling, int atMost) {
      int left = atMost;
      for (int i = 0; i < waiting.size() && left > 0; i++) {
        Waiter waiter = waiting.get(i);
        if ((alsoPolling || waiter.parks) && waiter.signal()) {
          left--;
        }
      }
    }
  }

  /** The successive waits of one thread. */
  public final class Waiter {
    private final Side side;
    private final Side others;
    private final BooleanSupplier isOver;
    private long start;
    private long parkNanos;
    private boolean wasParked; // at the end of the last wait
    private long waitedNanos;

    // Guarded by the monitor.
    private @Nullable Thread thread;
    private boolean parks;
    private boolean isSignalled;

    private Waiter(Side side, Side others, BooleanSupplier isOver) {
      this.side = side;
      this.others = others;
      this.isOver = isOver;
      synchronized (HandOff.this) { // a wait allocates nothing
        side.waiting.ensureCapacity(++side.waiters);
      }
    }

    /** Waits until the wait is over. Interrupts are dropped: they were meant for finished work. */
    @SuppressWarnings("EmptyCatch") // the next await() continues
    void awaitWork() {
      while (true) {
        try {
          await(Long.MAX_VALUE);
          return;
        } catch (InterruptedException dropped) {
        }
      }
    }

    /** Returns the time since the last call that waits took. Only for the thread that waits. */
    long takeWaitedNanos() {
      long nanos = waitedNanos;
      waitedNanos = 0;
      return nanos;
    }

    /**
     * Waits until the wait is over or the time has elapsed; an interrupt is kept for later.
     *
     * @return whether the wait is over
     */
    boolean awaitUninterruptibly(long nanos) {
      long end = System.nanoTime() + nanos;
      boolean wasInterrupted = false;
      try {
        while (true) {
          try {
            return await(end - System.nanoTime());
          } catch (InterruptedException e) {
            wasInterrupted = true;
          }
        }
      } finally {
        if (wasInterrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    /**
     * Waits until the wait is over or the time has elapsed.
     *
     * @return whether the wait is over
     * @throws InterruptedException if the thread is interrupted and would have to wait
     */
    boolean await(long nanos) throws InterruptedException {
      start = System.nanoTime();
      boolean isFirst = true;
      try {
        while (true) {
          synchronized (HandOff.this) {
            if (isOver.getAsBoolean()) {
              isSignalled = false;
              return true;
            }
            if (isFirst) {
              others.signal(true, Integer.MAX_VALUE);
            }
            prepare();
          }
          isFirst = false;
          long left = nanos - (System.nanoTime() - start);
          if (left <= 0) {
            return false;
          }
          if (Thread.interrupted()) {
            throw new InterruptedException();
          }
          LockSupport.parkNanos(this, Math.min(left, parkNanos));
        }
      } finally {
        end();
      }
    }

    private void prepare() {
      long waited = System.nanoTime() - start;
      parks = !side.polls || wasParked || waited >= PARK_AFTER_NANOS;
      parkNanos = parks ? side.maxParkNanos : Math.max(MIN_POLL_NANOS, waited / POLLS_OF_WAIT);
      isSignalled = false;
      if (thread == null) {
        side.waiting.add(this);
        thread = Thread.currentThread();
      }
    }

    private void end() {
      synchronized (HandOff.this) {
        if (thread != null) {
          thread = null;
          long waited = System.nanoTime() - start;
          waitedNanos += waited;
          wasParked = waited >= PARK_AFTER_NANOS;
          side.waiting.remove(this);
          if (isSignalled) { // and has not checked since
            isSignalled = false;
            side.signal(true, 1);
          }
        }
      }
    }

    /** Wakes the thread if its wait is over. The caller holds the monitor. */
    private boolean signal() {
      if (isSignalled || !isOver.getAsBoolean()) {
        return false;
      }
      isSignalled = true;
      LockSupport.unpark(thread);
      return true;
    }
  }
}
