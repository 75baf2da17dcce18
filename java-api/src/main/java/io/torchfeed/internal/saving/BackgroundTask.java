// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * At most one task on its own thread; the JVM exits after it. An interrupt of the waiting thread
 * neither ends the wait nor reaches the task, whose files it would close.
 */
public final class BackgroundTask implements AutoCloseable {
  private final String name;
  private volatile @Nullable Thread thread;
  private volatile @Nullable Throwable failure;
  private @Nullable Thread atExit;
  private volatile @Nullable CountDownLatch begun;

  /**
   * Creates a place for tasks.
   *
   * @param name of their threads
   */
  public BackgroundTask(String name) {
    this.name = name;
  }

  /**
   * Starts a task of two parts; {@link #await} must have returned since the one before it.
   *
   * @param first for {@link #awaitFirst}
   * @param rest follows it, unless it fails
   */
  public void start(Runnable first, Runnable rest) {
    if (atExit == null) {
      // System.exit and signals do not wait for threads
      Thread hook = new Thread(this::join, name + "-exit");
      Runtime.getRuntime().addShutdownHook(hook);
      atExit = hook;
    }
    CountDownLatch firstDone = new CountDownLatch(1);
    Thread started =
        new Thread(
            () -> {
              try {
                try {
                  first.run();
                } finally {
                  firstDone.countDown();
                }
                rest.run();
              } catch (Throwable e) {
                failure = e;
              }
            },
            name);
    started.setDaemon(false);
    thread = started;
    started.start();
    begun = firstDone;
  }

  /** Waits until the first part of the task has ended, or failed: then {@link #await} throws. */
  public void awaitFirst() {
    Joins.await(begun);
  }

  /**
   * Waits for the task; throws its failure once.
   *
   * @throws RuntimeException or an Error that the task threw
   */
  public void await() {
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
    Joins.join(thread);
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
