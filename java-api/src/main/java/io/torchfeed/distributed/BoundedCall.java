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
 * A call that may block for ever in native code: it runs in a thread of its own, which is left
 * behind when nobody waits any more.
 */
final class BoundedCall<T> {
  private final Supplier<T> call;
  private final Consumer<T> undo;
  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final Thread thread;

  /**
   * A call that has not begun.
   *
   * @param undo takes a result that came too late
   */
  BoundedCall(String threadName, Supplier<T> call, Consumer<T> undo) {
    this.call = call;
    this.undo = undo;
    thread = new Thread(this::run, threadName);
    thread.setDaemon(true);
  }

  /**
   * Runs the call and waits for its result. What it throws is thrown here.
   *
   * @throws TimeoutException if it takes longer than the limit
   * @throws IllegalStateException if the waiting thread is interrupted
   */
  T await(Duration limit) throws TimeoutException {
    thread.start();
    try {
      return result.orTimeout(limit.toMillis(), TimeUnit.MILLISECONDS).get();
    } catch (ExecutionException e) {
      throw failure(requireNonNull(e.getCause()));
    } catch (InterruptedException e) {
      abandon();
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted in " + thread.getName(), e);
    }
  }

  private void run() {
    try {
      T value = call.get();
      if (!result.complete(value)) {
        undo.accept(value);
      }
    } catch (RuntimeException | Error e) {
      result.completeExceptionally(e);
    }
  }

  private RuntimeException failure(Throwable cause) throws TimeoutException {
    if (cause instanceof TimeoutException late) {
      thread.interrupt();
      throw late;
    }
    if (cause instanceof Error error) {
      throw error;
    }
    return (RuntimeException) cause;
  }

  private void abandon() {
    thread.interrupt();
    if (!result.cancel(false) && !result.isCompletedExceptionally()) {
      undo.accept(result.join());
    }
  }
}
