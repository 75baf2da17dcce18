// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.CollectiveInterruptedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A call that may block indefinitely in native code. It runs in a thread of its own, or in one that
 * performs such calls one after the other, and is abandoned when the caller stops waiting.
 */
public final class TimeLimitedCall<T> {
  /** The time between two looks at whether it is still worth waiting. */
  private static final long BETWEEN_LOOKS_MILLIS = 50;

  private final String threadName;
  private final Supplier<T> call;
  private final Consumer<T> undo;
  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final Runnable task = this::run;
  private final @Nullable Thread own;
  private final @Nullable ThreadPoolExecutor shared;

  /**
   * Creates a call that has not started, with a thread of its own.
   *
   * @param undo receives a result that arrives after the caller has stopped waiting
   */
  TimeLimitedCall(String threadName, Supplier<T> call, Consumer<T> undo) {
    this.threadName = threadName;
    this.call = call;
    this.undo = undo;
    own = daemon(threadName, task);
    shared = null;
  }

  /**
   * Creates a call that has not started.
   *
   * @param shared performs it, after those that it has accepted before
   */
  TimeLimitedCall(String threadName, ThreadPoolExecutor shared, Supplier<T> call) {
    this.threadName = threadName;
    this.call = call;
    undo = result -> {};
    own = null;
    this.shared = shared;
  }

  /** Returns an executor for calls, whose only thread ends while there are none. */
  static ThreadPoolExecutor executor(String threadName) {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            1,
            1,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            each -> daemon(threadName, each));
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Runs the call and waits for its result. A runtime exception thrown by the call is rethrown.
   *
   * @throws TimeoutException if the call takes longer than the limit
   * @throws CollectiveInterruptedException if the waiting thread is interrupted
   * @throws IllegalStateException if the call throws anything else, which is then the cause
   */
  T await(Duration limit) throws TimeoutException {
    return await(limit, () -> {});
  }

  /**
   * Like {@link #await(Duration)}; calls {@code eachTime} again and again while it waits, and stops
   * waiting if that throws.
   */
  T await(Duration limit, Runnable eachTime) throws TimeoutException {
    if (own != null) {
      own.start();
    } else {
      requireNonNull(shared).execute(task);
    }
    try {
      return awaitResult(System.nanoTime() + limit.toNanos(), eachTime);
    } catch (ExecutionException e) {
      throw failure(requireNonNull(e.getCause()));
    } catch (TimeoutException e) {
      abandon();
      throw e;
    } catch (InterruptedException e) {
      abandon();
      Thread.currentThread().interrupt();
      throw CollectiveInterruptedException.ofWait(e);
    }
  }

  private T awaitResult(long deadline, Runnable eachTime)
      throws ExecutionException, InterruptedException, TimeoutException {
    while (true) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      try {
        return result.get(Math.max(0, Math.min(left, BETWEEN_LOOKS_MILLIS)), TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        if (left <= BETWEEN_LOOKS_MILLIS) {
          throw e;
        }
      }
      try {
        eachTime.run();
      } catch (RuntimeException e) {
        abandon();
        throw e;
      }
    }
  }

  // Anything thrown by the call must reach the waiting thread.
  @SuppressWarnings("CatchingUnchecked")
  private void run() {
    if (shared != null && result.isDone()) {
      return; // abandoned while it waited for its turn
    }
    T value;
    try {
      value = call.get();
    } catch (Throwable e) {
      result.completeExceptionally(e);
      return;
    }
    if (!result.complete(value)) {
      undo.accept(value);
    }
  }

  private RuntimeException failure(Throwable cause) {
    return cause instanceof RuntimeException exception
        ? exception
        : new IllegalStateException(threadName + " failed with " + cause, cause);
  }

  /** Cancels the call, or undoes its result if it has already completed. */
  private void abandon() {
    if (own != null) {
      own.interrupt();
    } else {
      requireNonNull(shared).remove(task);
    }
    if (!result.cancel(false) && !result.isCompletedExceptionally()) {
      undo.accept(result.join());
    }
  }
}
