// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Waits for threads that use memory or files of the waiting one, which an interrupt leaves. */
final class Joins {
  private Joins() {}

  /**
   * Waits for the end of a thread. An interrupt meanwhile stays for later.
   *
   * @param thread null if there is nothing to wait for
   */
  static void join(@Nullable Thread thread) {
    if (thread != null) {
      await(() -> !thread.isAlive(), thread::join);
    }
  }

  /**
   * Waits for a latch, as {@link #join}.
   *
   * @param latch null if there is nothing to wait for
   */
  static void await(@Nullable CountDownLatch latch) {
    if (latch != null) {
      await(() -> latch.getCount() == 0, latch::await);
    }
  }

  /** A wait that an interrupt ends. */
  private interface Wait {
    void run() throws InterruptedException;
  }

  private static void await(BooleanSupplier isOver, Wait wait) {
    boolean isInterrupted = false;
    while (!isOver.getAsBoolean()) {
      try {
        wait.run();
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
