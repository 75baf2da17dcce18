// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Throws an error in waiting threads, as an exhausted heap may at any moment. */
public final class ThreadStop {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Set<Thread.State> BLOCKED =
      EnumSet.of(Thread.State.WAITING, Thread.State.TIMED_WAITING, Thread.State.BLOCKED);

  static {
    System.load(
        Path.of("../native/target/cmake/libtorchfeed_thread_stop.so")
            .toAbsolutePath()
            .normalize()
            .toString());
  }

  private ThreadStop() {}

  /** Throws a {@link ThreadDeath} in a thread; nothing happens if it has ended. */
  public static void stop(Thread thread) {
    stop(thread, new ThreadDeath());
  }

  private static native void stop(Thread thread, Throwable error);

  /** Kills the given number of threads of one name, after waiting for all of them. */
  public static void threads(String name, int count) throws InterruptedException {
    for (Thread thread : await(name, count)) {
      stop(thread);
    }
  }

  /** Kills a thread of the given name once it is waiting. */
  public static void waiting(String name) throws InterruptedException {
    Thread thread = await(name, 1).get(0);
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!BLOCKED.contains(thread.getState()) && System.nanoTime() < deadline) {
      Thread.sleep(1);
    }
    stop(thread);
  }

  private static List<Thread> await(String name, int count) throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() < deadline) {
      List<Thread> found =
          Thread.getAllStackTraces().keySet().stream()
              .filter(thread -> thread.getName().equals(name))
              .toList();
      if (found.size() >= count) {
        return found;
      }
      Thread.sleep(5);
    }
    throw new AssertionError("there are fewer than " + count + " threads " + name);
  }
}
