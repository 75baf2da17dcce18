// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.util.Map;
import java.util.Optional;
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
    if (pid == null || !STARTED.compareAndSet(false, true)) {
      return;
    }
    Optional<ProcessHandle> parent = ProcessHandle.of(Long.parseLong(pid));
    Thread thread = new Thread(() -> watch(parent), "torchfeed-launcher-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static void watch(Optional<ProcessHandle> parent) {
    while (parent.isPresent() && parent.get().isAlive()) {
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
