// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import io.torchfeed.distributed.ProcessGroup;
import org.apache.spark.TaskContext;

/**
 * Ends a rank whose task is killed: the waits of libtorch and of loaders do not see that, so that a
 * thread aborts the group and interrupts the rank.
 */
final class KillWatch implements AutoCloseable {
  private static final long PAUSE_MILLIS = 50;

  private final TaskContext task;
  private final ProcessGroup group;
  private final Thread rank;
  private final Thread watch;
  private boolean isClosed;

  private KillWatch(TaskContext task, ProcessGroup group, Thread rank) {
    this.task = task;
    this.group = group;
    this.rank = rank;
    watch = new Thread(this::run, "torchfeed-spark-kill-watch");
    watch.setDaemon(true);
  }

  /** Watches the task of the calling thread, which has to be captured: it is thread-local. */
  static KillWatch start(TaskContext task, ProcessGroup group) {
    KillWatch watch = new KillWatch(task, group, Thread.currentThread());
    watch.watch.start();
    return watch;
  }

  private synchronized void run() {
    try {
      while (!isClosed) {
        if (task.isInterrupted()) {
          group.abort();
          rank.interrupt();
          return;
        }
        wait(PAUSE_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // no one interrupts it; it would end
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      isClosed = true;
      notifyAll();
    }
    boolean wasInterrupted = Thread.interrupted(); // else the wait below would end at once
    try {
      watch.join();
    } catch (InterruptedException e) {
      wasInterrupted = true;
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
