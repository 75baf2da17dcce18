// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import java.lang.ref.WeakReference;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A bound on the engines of the open passes of a loader, or on open loaders. A pass that was
 * dropped without being closed counts until it is collected; its memory and threads take no room in
 * the Java heap, so that might never happen. Therefore, opening one pass too many asks for a
 * garbage collection and waits until the dropped passes are closed. If all of them turn out to be
 * in use, more are allowed without another collection, up to a fixed number, until fewer are in
 * use. Thread-safe.
 *
 * <p>A JVM may be told to ignore requests for collections ({@code -XX:+DisableExplicitGC}). Then
 * each further pass fills the heap with as many bytes of garbage as the pass takes outside of it,
 * until that causes a collection.
 */
final class EngineLimit {
  /** The passes of a loader that may be open before a collection is requested. */
  private static final int FEW_PASSES = 4;

  /** The passes of a loader that may be open. */
  private static final int MAX_PASSES = 128;

  /** The loaders that may be open before a collection is requested: many programs have some. */
  private static final int FEW_LOADERS = 16;

  /** About the stacks of the threads of a loader that has just been built. */
  private static final long LOADER_BYTES = 8L << 20;

  /** The time for dropped passes to be closed after a collection. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Small enough for the young generation of every collector. */
  private static final int PIECE_BYTES = 64 << 10;

  private final int few;
  private final int most;
  private final long bytesOfEach;

  private final Object collecting = new Object();
  private @Nullable WeakReference<Object> uncollected; // guarded by collecting
  private volatile byte @Nullable [] unusedGarbage; // a field, or no array would be created

  // Guarded by this.
  private int inUse;
  private int allowed;

  private EngineLimit(int few, int most, long bytesOfEach) {
    this.few = few;
    this.allowed = few;
    this.most = most;
    this.bytesOfEach = bytesOfEach;
  }

  /**
   * Creates a limit for the passes of a loader, none of which is open.
   *
   * @param passBytes the memory outside of the heap that a pass takes
   */
  static EngineLimit ofPasses(long passBytes) {
    return new EngineLimit(FEW_PASSES, MAX_PASSES, passBytes);
  }

  /** Creates a limit for loaders, none of which is open: as many as are in use. */
  static EngineLimit ofLoaders() {
    return new EngineLimit(FEW_LOADERS, Integer.MAX_VALUE, LOADER_BYTES);
  }

  /**
   * Counts an engine that a pass is about to use.
   *
   * @throws IllegalStateException if too many are in use
   */
  void acquire() {
    if (tryAcquire()) {
      return;
    }
    synchronized (collecting) {
      if (tryAcquire()) {
        return;
      }
      boolean isCollected = collect(isAtMost() ? Runtime.getRuntime().maxMemory() : bytesOfEach);
      if (!isCollected || !awaitRoom()) {
        acquireMore(isCollected);
      }
    }
  }

  private synchronized boolean tryAcquire() {
    if (inUse >= allowed) {
      return false;
    }
    inUse++;
    return true;
  }

  private synchronized boolean isAtMost() {
    return inUse >= most;
  }

  /** Counts an engine although many are in use. */
  private synchronized void acquireMore(boolean isCollected) {
    if (inUse >= most) {
      throw new IllegalStateException(
          ("a DataLoader can have at most %d passes that are open and not read to their end, each"
                  + " with threads and memory of its own; close each pass, for example with"
                  + " try-with-resources")
              .formatted(most));
    }
    inUse++;
    if (isCollected) {
      allowed = (int) Math.min(most, 2L * inUse);
    }
  }

  /**
   * Notes that an engine is not used any more. The number allowed falls with the number in use:
   * passes that were held once do not let as many be dropped later.
   */
  synchronized void release() {
    inUse--;
    allowed = Math.max(few, Math.min(allowed, 2 * inUse));
    notifyAll();
  }

  /**
   * Requests a collection.
   *
   * @param bytes the garbage to make if the request is ignored, at most
   * @return whether there was a collection
   */
  private boolean collect(long bytes) {
    WeakReference<Object> object = uncollected == null ? newObject() : uncollected;
    System.gc();
    for (long made = 0; object.get() != null && made < bytes; made += PIECE_BYTES) {
      unusedGarbage = new byte[PIECE_BYTES];
    }
    unusedGarbage = null;
    boolean isCollected = object.get() == null;
    uncollected = isCollected ? null : object;
    return isCollected;
  }

  private static WeakReference<Object> newObject() {
    return new WeakReference<>(new Object());
  }

  /** Waits for engines to be released, and counts one; returns false if too many stay in use. */
  private synchronized boolean awaitRoom() {
    long end = System.nanoTime() + PATIENCE_NANOS;
    boolean wasInterrupted = false;
    boolean isAcquired = tryAcquire();
    for (long left = millisUntil(end); !isAcquired && left > 0; left = millisUntil(end)) {
      try {
        wait(left);
      } catch (InterruptedException e) {
        wasInterrupted = true;
      }
      isAcquired = tryAcquire();
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
    return isAcquired;
  }

  private static long millisUntil(long end) {
    return TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
  }
}
