// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A check that an object is used by one thread at a time. It notices misuse, and never waits. */
public final class OneThread {
  private final AtomicReference<@Nullable Thread> inside = new AtomicReference<>();
  private final Object name;

  /**
   * Creates the check of an object.
   *
   * @param name its name in messages, or an object whose {@code toString} makes it when needed
   */
  public OneThread(Object name) {
    this.name = name;
  }

  /**
   * Admits the calling thread; {@link #exit} belongs in a {@code finally} after it.
   *
   * @throws IllegalStateException if a thread is inside
   */
  public void enter() {
    if (!tryEnter()) {
      throw misuse(inside.get(), null);
    }
  }

  /** Admits the calling thread, unless one is inside; returns whether it did. */
  public boolean tryEnter() {
    return inside.compareAndSet(null, Thread.currentThread());
  }

  /** Ends an {@link #enter}. */
  public void exit() {
    inside.set(null);
  }

  /** Returns the error of a use that failed as it cannot with one thread. */
  public IllegalStateException misuse(RuntimeException cause) {
    return misuse(inside.get(), cause);
  }

  private IllegalStateException misuse(@Nullable Thread other, @Nullable RuntimeException cause) {
    return new IllegalStateException(
        "%s was used by two threads at once, %s and %s; open a cursor for each thread"
            .formatted(
                name,
                other == null ? "one that has left it" : other.getName(),
                Thread.currentThread().getName()),
        cause);
  }
}
