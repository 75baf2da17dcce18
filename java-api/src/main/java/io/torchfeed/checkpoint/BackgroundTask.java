// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import org.jspecify.annotations.Nullable;

/**
 * At most one task on its own thread; the JVM exits after it. An interrupt of the waiting thread
 * neither ends the wait nor reaches the task, whose files it would close.
 */
final class BackgroundTask implements AutoCloseable {
  private final String name;
  private volatile @Nullable Thread thread;
  private volatile @Nullable Throwable failure;
  private @Nullable Thread atExit;

  BackgroundTask(String name) {
    this.name = name;
  }

  /** Starts a task; {@link #await} must have returned since the one before it. */
  void start(Runnable task) {
    if (atExit == null) {
      // System.exit and signals do not wait for threads
      Thread hook = new Thread(this::join, name + "-exit");
      Runtime.getRuntime().addShutdownHook(hook);
      atExit = hook;
    }
    Thread started =
        new Thread(
            () -> {
              try {
                task.run();
              } catch (Throwable e) {
                failure = e;
              }
            },
            name);
    started.setDaemon(false);
    thread = started;
    started.start();
  }

  /**
   * Waits for the task; throws its failure once.
   *
   * @throws RuntimeException or an Error that the task threw
   */
  void await() {
    join();
    thread = null;
    Throwable thrown = failure;
    failure = null;
    if (thrown instanceof RuntimeException e) {
      throw e;
    } else if (thrown instanceof Error e) {
      throw e;
    }
  }

  private void join() {
    Thread running = thread;
    boolean isInterrupted = false;
    while (running != null && running.isAlive()) {
      try {
        running.join();
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    try {
      await();
    } finally {
      removeHook();
    }
  }

  private void removeHook() {
    Thread hook = atExit;
    atExit = null;
    if (hook != null) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        return; // the JVM is exiting
      }
    }
  }
}
