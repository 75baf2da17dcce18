// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import io.torchfeed.internal.ParentProcess;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * A watch over the launcher of this process. A launcher that is killed cannot end its ranks: each
 * leaves the job, and is ended if it does not end by itself.
 */
final class LauncherWatch {
  static final Duration GRACE = Duration.ofSeconds(30);

  private static final Duration POLL = Duration.ofMillis(250);
  private static final int EXIT_CODE = 143;

  private LauncherWatch() {}

  /**
   * Starts to watch.
   *
   * @param launcher the process id of the parent
   * @param leave asks to leave the job
   */
  static void start(long launcher, Runnable leave) {
    Thread thread = new Thread(() -> watch(launcher, leave), "torchfeed-launcher-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static void watch(long launcher, Runnable leave) {
    try {
      while (ParentProcess.isParent(launcher)) {
        pause(POLL);
      }
      leave.run();
      System.err.printf(
          "the launcher of this process is gone: it leaves the job, and is ended in %d s%n",
          GRACE.toSeconds());
      pause(GRACE);
    } finally {
      Runtime.getRuntime().halt(EXIT_CODE); // an orderly exit could hang
    }
  }

  /** Waits, also in a thread that was interrupted. */
  private static void pause(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    for (long left = time.toNanos(); left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(left);
      Thread.interrupted();
    }
  }
}
