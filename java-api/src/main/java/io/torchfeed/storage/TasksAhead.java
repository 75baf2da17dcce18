// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Tasks on daemon threads of their own, ahead of the one that takes their results in their order.
 * At most as many tasks as threads have begun and were not taken. Not thread-safe.
 */
final class TasksAhead<T> implements AutoCloseable {
  private static final int END_SECONDS = 5;

  private final Iterator<? extends Callable<T>> tasks;
  private final Deque<Future<T>> begun = new ArrayDeque<>();
  private final int threads;
  private final ExecutorService pool;

  TasksAhead(List<? extends Callable<T>> tasks, int threads) {
    this.tasks = tasks.iterator();
    this.threads = threads;
    pool = Executors.newFixedThreadPool(threads, TasksAhead::thread);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "torchfeed-copy");
    thread.setDaemon(true);
    return thread;
  }

  boolean hasNext() {
    return !begun.isEmpty() || tasks.hasNext();
  }

  /** Waits for the next result; begins the task after those that have begun. */
  T next() throws IOException, InterruptedException {
    try {
      begin();
      T result = begun.element().get();
      begun.remove();
      begin();
      return result;
    } catch (ExecutionException e) {
      begun.remove();
      throw failure(e);
    } catch (CancellationException | RejectedExecutionException e) { // closed meanwhile
      throw new IllegalStateException("CopiesAhead is closed", e);
    }
  }

  private static IOException failure(ExecutionException e) {
    if (e.getCause() instanceof IOException failure) {
      return failure;
    } else if (e.getCause() instanceof RuntimeException failure) {
      throw failure;
    } else if (e.getCause() instanceof Error failure) {
      throw failure;
    }
    throw new IllegalStateException(e); // tasks throw nothing else
  }

  private void begin() {
    while (begun.size() < threads && tasks.hasNext()) {
      begun.add(pool.submit(tasks.next()));
    }
  }

  /** Interrupts the tasks, and waits for their end unless they take seconds or are interrupted. */
  @Override
  public void close() {
    for (Runnable waiting : pool.shutdownNow()) {
      ((Future<?>) waiting).cancel(false); // a thread may await its result
    }
    try {
      pool.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
