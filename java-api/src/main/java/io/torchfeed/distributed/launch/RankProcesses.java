// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The processes of one launch. None outlives this object or the JVM: closing this object ends them,
 * and so does a shutdown hook.
 */
final class RankProcesses implements AutoCloseable {
  static final String HOOK_THREAD = "torchfeed-launcher-end";

  /** The time in which the last lines of processes that have exited are forwarded. */
  private static final Duration LAST_LINES = Duration.ofSeconds(1);

  private final Duration grace;
  private final Consumer<RankProcess> onChange;
  private final List<RankProcess> processes = new ArrayList<>();
  private final Thread hook = new Thread(this::endInHook, HOOK_THREAD);
  private volatile boolean isEnding;
  private volatile Runnable atShutdown = () -> {};

  /**
   * Creates an empty set of processes.
   *
   * @param grace how long they have to terminate before they are killed
   * @param onChange called in another thread when a process has exited, or its output can no longer
   *     be forwarded
   */
  RankProcesses(Duration grace, Consumer<RankProcess> onChange) {
    this.grace = grace;
    this.onChange = onChange;
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** A function that starts one process. */
  interface Start {
    /**
     * Starts the process.
     *
     * @param onOutputFailure called when its output can no longer be forwarded
     */
    RankProcess start(Consumer<RankProcess> onOutputFailure);
  }

  /**
   * Starts a process.
   *
   * @throws IllegalStateException if this JVM is shutting down
   */
  RankProcess start(Start start) {
    RankProcess process;
    synchronized (processes) {
      if (isEnding) {
        throw new IllegalStateException("a rank cannot be started: this JVM is shutting down");
      }
      process = start.start(onChange);
      processes.add(process);
    }
    var unused = process.process().onExit().thenRun(() -> onChange.accept(process));
    return process;
  }

  /** Sets the last action of the hook, after the end of the processes. */
  void atShutdown(Runnable last) {
    atShutdown = last;
  }

  /** Returns whether this JVM is shutting down, and ends the processes. */
  boolean isEnding() {
    return isEnding;
  }

  /** Sends a signal to all processes. */
  void signal(String name) {
    synchronized (processes) {
      processes.forEach(each -> each.signal(name));
    }
  }

  /** Forgets a process that has exited. */
  void remove(RankProcess exited) {
    synchronized (processes) {
      processes.remove(exited);
    }
  }

  private void endInHook() {
    isEnding = true; // at once: a launch that replaces processes must not
    synchronized (processes) {
      try {
        end();
      } finally {
        atShutdown.run();
      }
    }
  }

  /**
   * Asks all processes to terminate, kills those still running after the grace period, and lets
   * their last lines be printed.
   */
  private void end() {
    boolean interrupted = false;
    try {
      processes.forEach(RankProcess::terminate);
      long deadline = System.nanoTime() + grace.toNanos();
      for (RankProcess each : processes) {
        long left = Math.max(0, deadline - System.nanoTime());
        try {
          each.process().waitFor(interrupted ? 0 : left, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      processes.forEach(RankProcess::kill);
      interrupted |= awaitOutput();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns whether this thread was interrupted; it waits nevertheless. */
  private boolean awaitOutput() {
    boolean wasInterrupted = Thread.interrupted();
    long deadline = System.nanoTime() + LAST_LINES.toNanos();
    for (RankProcess each : processes) {
      boolean isAwaited = false;
      while (!isAwaited) {
        try {
          each.awaitOutput(deadline);
          isAwaited = true;
        } catch (InterruptedException e) {
          wasInterrupted = true;
        }
      }
    }
    return wasInterrupted;
  }

  @Override
  public void close() {
    try {
      end();
    } finally {
      removeHook();
    }
  }

  private void removeHook() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      return; // the JVM is shutting down, and the hook ends the ranks
    }
  }
}
