// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.internal.ParentProcess;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * A watchdog that ends this process when the launcher that started it is gone.
 *
 * <p>A launcher that is killed outright cannot end its ranks, so each rank watches its launcher.
 */
public final class ParentWatchdog {
  public static final String THREAD = "torchfeed-launcher-watch";

  private static final Duration POLL = Duration.ofMillis(250);
  private static final long SAYING_MILLIS = 500;
  private static final int EXIT_CODE = 143;
  private static final AtomicBoolean STARTED = new AtomicBoolean();

  private ParentWatchdog() {}

  public static void start(Map<String, String> variables) {
    OptionalLong launcher = ParentProcess.launcher(variables);
    if (launcher.isEmpty() || !STARTED.compareAndSet(false, true)) {
      return;
    }
    boolean running = false;
    try {
      daemon(THREAD, () -> watch(launcher.getAsLong())).start();
      running = true;
    } finally {
      STARTED.set(running);
    }
  }

  /** Returns whether the variables name the parent of this process as its launcher. */
  static boolean isRank(Map<String, String> variables) {
    return ParentProcess.launcher(variables).isPresent();
  }

  // Nothing thrown here, not even OutOfMemoryError or by Thread.stop, may end the watch: its
  // absence would go unnoticed until the launcher is killed.
  @SuppressWarnings("CatchingUnchecked")
  private static void watch(long launcher) {
    boolean isParent = true;
    while (isParent) {
      try {
        LockSupport.parkNanos(POLL.toNanos());
        Thread.interrupted(); // otherwise every later pause would return immediately
        isParent = ParentProcess.isParent(launcher);
      } catch (Throwable e) {
        isParent = true; // unknown: check again
      }
    }
    end();
  }

  /** Ends the process. Standard error may be a full pipe, so writing to it is not awaited. */
  private static void end() {
    try {
      Thread saying =
          daemon(
              "torchfeed-launcher-gone",
              () -> System.err.println("the launcher of this rank is gone: this rank exits"));
      saying.start();
      saying.join(SAYING_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      // an orderly exit could wait for a peer that is also gone
      Runtime.getRuntime().halt(EXIT_CODE);
    }
  }

  private static Thread daemon(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    return thread;
  }
}
