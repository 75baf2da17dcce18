// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A call that may block indefinitely in native code. It runs in a thread of its own, which is
 * abandoned when the caller stops waiting.
 */
final class TimeLimitedCall<T> {
  /** The time between two looks at whether it is still worth waiting. */
  static final long BETWEEN_LOOKS_MILLIS = 50;

  private final Supplier<T> call;
  private final Consumer<T> undo;
  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final Thread thread;

  /**
   * Creates a call that has not started.
   *
   * @param undo receives a result that arrives after the caller has stopped waiting
   */
  TimeLimitedCall(String threadName, Supplier<T> call, Consumer<T> undo) {
    this.call = call;
    this.undo = undo;
    thread = new Thread(this::run, threadName);
    thread.setDaemon(true);
  }

  /**
   * Runs the call and waits for its result. A runtime exception thrown by the call is rethrown.
   *
   * @throws TimeoutException if the call takes longer than the limit
   * @throws IllegalStateException if the waiting thread is interrupted, or the call throws anything
   *     else, which is then the cause
   */
  T await(Duration limit) throws TimeoutException {
    return await(limit, () -> {});
  }

  /**
   * Like {@link #await(Duration)}; calls {@code eachTime} again and again while it waits, and stops
   * waiting if that throws.
   */
  T await(Duration limit, Runnable eachTime) throws TimeoutException {
    thread.start();
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
      throw new IllegalStateException("interrupted in " + thread.getName(), e);
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
        : new IllegalStateException(thread.getName() + " failed with " + cause, cause);
  }

  /** Cancels the call, or undoes its result if it has already completed. */
  private void abandon() {
    thread.interrupt();
    if (!result.cancel(false) && !result.isCompletedExceptionally()) {
      undo.accept(result.join());
    }
  }
}
