// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.LoadedBatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The lifecycle of a pass: it admits one thread at a time, keeps the batch that the consumer holds,
 * and coordinates the end, which any thread may request at any time: the last thread to leave a
 * closed pass cleans up.
 */
final class PassLifecycle {
  /** The actions of a pass when its batches, its use of the engine, or the pass itself end. */
  interface Ends {
    /** Notes that a batch has ended and was freed. */
    void batchEnded(LoadedBatch batch);

    /** Notes that the pass no longer needs its engine. Called once. */
    void engineUnused();

    /**
     * Notes that the pass is closed and no thread is inside. Called once, after {@link
     * #engineUnused}.
     */
    void passEnded();
  }

  /** The time that a closed pass waits for its consumer to leave. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

  private final BatchEngine engine;
  private final String name;
  private final Ends ends;
  private volatile boolean closed;

  private final Object engineLock = new Object();
  private boolean engineUnused; // guarded by engineLock, which is held to interrupt the engine
  private long closedAt; // guarded by engineLock

  // Guarded by this.
  private @Nullable Thread inside;
  private @Nullable Thread cleaner; // the thread that cleans up or has cleaned up
  private boolean cleanedUp;
  private @Nullable LoadedBatch current;
  private @Nullable Thread consumer; // thread that took current

  /**
   * Creates the lifecycle of an open pass.
   *
   * @param engine the engine to interrupt when the pass is closed
   * @param name the name of the pass in messages
   */
  PassLifecycle(BatchEngine engine, String name, Ends ends) {
    this.engine = engine;
    this.name = name;
    this.ends = ends;
  }

  /**
   * Admits the calling thread; {@link #exit} belongs in a {@code finally}.
   *
   * @throws IllegalStateException if the pass is closed, or a thread is inside
   */
  void enter() {
    Thread caller = Thread.currentThread();
    boolean isAdmitted = false;
    synchronized (this) {
      if (!closed) {
        requireNobodyInside(caller);
        inside = caller;
        isAdmitted = true;
      }
    }
    if (!isAdmitted) {
      endCurrent();
      throw closedException();
    }
  }

  private void requireNobodyInside(Thread caller) {
    if (inside == caller) {
      throw new IllegalStateException(
          name + " cannot be read by the code that loads its own samples");
    }
    if (inside != null) {
      throw new IllegalStateException(
          ("%s serves one thread at a time: %s reads it, and %s tried to; open a pass for each"
                  + " thread, or let one thread read and hand out Batch.keep()")
              .formatted(name, inside.getName(), caller.getName()));
    }
  }

  void exit() {
    boolean isLast;
    synchronized (this) {
      inside = null;
      isLast = closed && claimCleanUp();
      notifyAll();
    }
    if (isLast) {
      cleanUp();
    }
  }

  private boolean claimCleanUp() {
    if (cleaner != null) {
      return false;
    }
    cleaner = Thread.currentThread();
    return true;
  }

  void requireOpen() {
    if (closed) {
      endCurrent();
      throw closedException();
    }
  }

  boolean isClosed() {
    return closed;
  }

  /**
   * Requires that the pass is not closed. Unlike {@link #requireOpen}, may be called by any thread.
   */
  void requireNotClosed() {
    if (closed) {
      throw closedException();
    }
  }

  private IllegalStateException closedException() {
    return new IllegalStateException(name + " is closed");
  }

  /** Notes that the calling thread takes a batch; ends the previous one. */
  void beginTaking() {
    Thread caller = Thread.currentThread();
    LoadedBatch left = null;
    synchronized (this) {
      if (consumer != null && consumer != caller && consumer.isAlive()) {
        left = current; // may be in use by the other thread: its tensors stay until collected
        current = null;
      }
      consumer = caller;
    }
    if (left != null) {
      left.end();
      ends.batchEnded(left);
    }
    endCurrent();
  }

  /** Notes the batch that is delivered to the consumer. */
  synchronized LoadedBatch deliver(LoadedBatch batch) {
    current = batch;
    return batch;
  }

  /**
   * Ends the current batch. Its tensors are freed only by the consumer, which may be inside an
   * operation on them while another thread closes the pass.
   */
  private void endCurrent() {
    LoadedBatch batch;
    boolean isMine;
    synchronized (this) {
      batch = current;
      isMine = consumer == Thread.currentThread();
      if (isMine) {
        current = null;
      }
    }
    if (batch == null) {
      return;
    }
    batch.end();
    if (isMine) {
      batch.close();
      ends.batchEnded(batch);
    }
  }

  /** Notes that no batch is left: the current one ends, and the engine can serve other passes. */
  void finish() {
    endCurrent();
    boolean isFirst;
    synchronized (engineLock) {
      isFirst = !closed && !engineUnused;
      engineUnused |= isFirst;
    }
    if (isFirst) {
      ends.engineUnused();
    }
  }

  /** Begins to close, without waiting for any thread. */
  void interrupt() {
    synchronized (engineLock) {
      if (!closed) {
        closed = true;
        closedAt = System.nanoTime();
        if (!engineUnused) {
          engine.interrupt();
        }
      }
    }
  }

  /** Closes the pass. Idempotent. */
  void close() {
    interrupt();
    // A consumer that is blocked in the code of a dataset cleans up when it leaves.
    if (awaitTurn()) {
      cleanUp();
    } else {
      endCurrent(); // the thread that closed first may not have been the consumer
    }
  }

  /**
   * Waits briefly for other threads to leave and clean up; returns whether the caller must clean
   * up.
   */
  private boolean awaitTurn() {
    long end;
    synchronized (engineLock) {
      end = closedAt + PATIENCE_NANOS;
    }
    boolean wasInterrupted = false;
    try {
      synchronized (this) {
        while (isOther(inside) || (isOther(cleaner) && !cleanedUp)) {
          long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
          if (left <= 0) {
            return false;
          }
          try {
            wait(left);
          } catch (InterruptedException e) {
            wasInterrupted = true;
          }
        }
        return inside == null && claimCleanUp();
      }
    } finally {
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static boolean isOther(@Nullable Thread thread) {
    return thread != null && thread != Thread.currentThread();
  }

  private void cleanUp() {
    try {
      endAll();
    } finally {
      synchronized (this) {
        cleanedUp = true;
        notifyAll();
      }
    }
  }

  private void endAll() {
    endCurrent();
    boolean isFirst;
    synchronized (engineLock) { // the closing thread has interrupted this engine by now
      isFirst = !engineUnused;
      engineUnused = true;
    }
    try {
      if (isFirst) {
        ends.engineUnused();
      }
    } finally {
      ends.passEnded();
    }
  }
}
