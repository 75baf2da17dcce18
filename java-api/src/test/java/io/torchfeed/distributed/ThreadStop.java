// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Throws an error in waiting threads, as an exhausted heap may at any moment. */
final class ThreadStop {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Set<Thread.State> BLOCKED =
      EnumSet.of(Thread.State.WAITING, Thread.State.TIMED_WAITING, Thread.State.BLOCKED);

  private ThreadStop() {}

  /** Kills all threads of the given name, after waiting for at least one. */
  @SuppressWarnings({"removal", "deprecation"})
  static void threads(String name) throws InterruptedException {
    for (Thread thread : await(name)) {
      thread.stop();
    }
  }

  /** Kills a thread of the given name once it is waiting. */
  @SuppressWarnings({"removal", "deprecation"})
  static void waiting(String name) throws InterruptedException {
    Thread thread = await(name).get(0);
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!BLOCKED.contains(thread.getState()) && System.nanoTime() < deadline) {
      Thread.sleep(1);
    }
    thread.stop();
  }

  private static List<Thread> await(String name) throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() < deadline) {
      List<Thread> found =
          Thread.getAllStackTraces().keySet().stream()
              .filter(thread -> thread.getName().equals(name))
              .toList();
      if (!found.isEmpty()) {
        return found;
      }
      Thread.sleep(5);
    }
    throw new AssertionError("there is no thread " + name);
  }
}
