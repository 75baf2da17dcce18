// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Ends this process when the launcher that started it is gone.
 *
 * <p>A launcher that is killed outright cannot end its ranks, so they look after it themselves.
 */
final class ParentWatch {
  /** Holds the process id of the launcher. */
  static final String VARIABLE = "TORCHFEED_LAUNCHER_PID";

  private static final long POLL_MILLIS = 250;
  private static final int EXIT_CODE = 143;
  private static final AtomicBoolean STARTED = new AtomicBoolean();

  private ParentWatch() {}

  static void start(Map<String, String> variables) {
    @Nullable String pid = variables.get(VARIABLE);
    if (pid == null) {
      return;
    }
    long launcher = launcher(pid);
    // A process below a rank inherits the variable, but the launcher is not its parent.
    if (!isChildOf(launcher) || !STARTED.compareAndSet(false, true)) {
      return;
    }
    Thread thread = new Thread(() -> watch(launcher), "torchfeed-launcher-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static long launcher(String pid) {
    try {
      return Long.parseLong(pid);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "environment variable " + VARIABLE + " must be a process id, got '" + pid + "'", e);
    }
  }

  /** Ranks are direct children of the launcher, so they get another parent when it is gone. */
  private static boolean isChildOf(long launcher) {
    return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(-1L) == launcher;
  }

  private static void watch(long launcher) {
    while (isChildOf(launcher)) {
      try {
        Thread.sleep(POLL_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
    System.err.println("the launcher of this rank is gone: the rank ends");
    Runtime.getRuntime().halt(EXIT_CODE); // an orderly exit could wait for a peer that is gone too
  }
}
