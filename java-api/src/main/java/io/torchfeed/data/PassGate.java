// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Who is inside of a pass, the batch that is out, and the end, which may come at any moment from
 * any thread: whoever comes out last of a closed pass cleans up.
 */
final class PassGate {
  /** What a pass does at its ends; both are called by who is inside. */
  interface Ends {
    /** The current batch was freed. */
    void batchEnded();

    /** The pass is over, and nobody will be inside any more; once. */
    void passEnded();
  }

  /** How long a closed pass waits for its consumer to come out. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  private final Feed feed;
  private final String name;
  private final Ends ends;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Object closing = new Object(); // held while a pass is closed and its feed told
  private volatile long closedAt;

  // What follows belongs to the holder of the lock.
  private final ReentrantLock lock = new ReentrantLock();
  private boolean cleanedUp;
  private @Nullable Batch current;
  private @Nullable Thread consumer;

  /**
   * An open pass.
   *
   * @param feed what is interrupted when the pass is closed
   * @param name what the pass is called in messages
   */
  PassGate(Feed feed, String name, Ends ends) {
    this.feed = feed;
    this.name = name;
    this.ends = ends;
  }

  /** Goes in, alone; {@link #exit} belongs in a {@code finally}. */
  void enter() {
    lock.lock();
  }

  void exit() {
    try {
      if (closed.get() && lock.getHoldCount() == 1) {
        cleanUp();
      }
    } finally {
      lock.unlock();
    }
  }

  void requireOpen() {
    if (closed.get()) {
      endCurrent();
      throw new IllegalStateException(name + " is closed");
    }
  }

  /** The calling thread takes a batch: it owns the pass from now on, and the one before ends. */
  void beginTaking() {
    consumer = Thread.currentThread(); // a pass may change hands
    endCurrent();
  }

  /** A batch goes out. */
  Batch deliver(Batch batch) {
    current = batch;
    return batch;
  }

  /**
   * Ends the current batch. Its tensors are freed by the consumer alone, which may be inside of an
   * operation on them while another thread closes the pass.
   */
  private void endCurrent() {
    Batch batch = current;
    if (batch == null) {
      return;
    }
    batch.end();
    if (consumer == Thread.currentThread()) {
      batch.close();
      current = null;
      ends.batchEnded();
    }
  }

  /** Begins to close, without waiting for anybody. */
  void interrupt() {
    synchronized (closing) {
      if (closed.compareAndSet(false, true)) {
        closedAt = System.nanoTime();
        feed.interrupt();
      }
    }
  }

  /** Closes; silent the second time. */
  void close() {
    interrupt();
    // A consumer that is held up in the code of a dataset cleans up when it comes out.
    if (lockInTime()) {
      try {
        endCurrent(); // whoever closed first may not have been the consumer
      } finally {
        exit();
      }
    }
  }

  private boolean lockInTime() {
    long end = closedAt + PATIENCE_NANOS;
    boolean wasInterrupted = false;
    try {
      while (true) {
        try {
          return lock.tryLock(end - System.nanoTime(), TimeUnit.NANOSECONDS);
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

  private void cleanUp() {
    endCurrent();
    if (!cleanedUp) {
      cleanedUp = true;
      synchronized (closing) {
        // whoever closes has interrupted this feed, and will not interrupt its next pass
      }
      ends.passEnded();
    }
  }
}
