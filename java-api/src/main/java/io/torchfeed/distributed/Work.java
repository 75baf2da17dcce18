// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeWork;
import io.torchfeed.internal.TimeLimit;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An operation of {@link AsyncCollectives} that has been started.
 *
 * <p>Its tensors hold the result once {@link #await()} has returned; until then they must not be
 * read or written. They may be closed, since the operation keeps their memory. It continues if this
 * object is dropped. Thread-safe.
 *
 * @param <T> the result of the operation; {@link Void} if nothing
 */
public final class Work<T> {
  private static final long UNTIL_DONE = -1;

  private final @Nullable NativeHandle<NativeWork> handle; // null if there was nothing to wait for
  private final Operation.Result<T> results;
  private final Function<RuntimeException, RuntimeException> failures;
  private final Consumer<@Nullable RuntimeException> end;
  private @Nullable T result;
  private @Nullable RuntimeException failure;
  private volatile boolean isSettled;

  /**
   * Takes ownership of a native operation.
   *
   * @param results returns the result of the operation, once it is done
   * @param failures returns the public exception for a failure of the native operation
   * @param end gets once, when the operation is settled, its failure; null if it has none
   */
  Work(
      NativeHandle<NativeWork> handle,
      Operation.Result<T> results,
      Function<RuntimeException, RuntimeException> failures,
      Consumer<@Nullable RuntimeException> end) {
    this.handle = handle;
    this.results = results;
    this.failures = failures;
    this.end = end;
  }

  private Work(T result) {
    handle = null;
    results = work -> result;
    failures = e -> e;
    end = failed -> {};
    this.result = result;
    isSettled = true;
  }

  /** Returns an operation that is done. */
  static <T> Work<T> done(T result) {
    return new Work<>(result);
  }

  /**
   * Waits until the operation is done, regardless of interrupts. It fails if another rank does not
   * respond within the group's timeout.
   *
   * @return the result of the operation, the same object every time; the caller owns its tensors
   * @throws IllegalArgumentException if the arguments were refused
   * @throws PeerLostException if a rank was lost or did not respond
   * @throws IllegalStateException if the group was aborted or closed
   */
  public T await() {
    awaitDone(UNTIL_DONE);
    return settled();
  }

  /**
   * Waits until the operation is done, but not longer than a limit; it continues after that.
   *
   * @param limit how long to wait, rounded down to milliseconds; zero or less: not at all
   * @return whether it is done, so that {@link #await()} does not wait
   * @throws IllegalArgumentException if the arguments were refused
   * @throws PeerLostException if a rank was lost or did not respond
   * @throws IllegalStateException if the group was aborted or closed
   */
  public boolean await(Duration limit) {
    boolean isDone = awaitDone(Math.max(0, TimeLimit.of("limit", limit).toMillis()));
    if (isDone) {
      settled();
    }
    return isDone;
  }

  /**
   * Returns whether the operation is done, successfully or not; never waits.
   *
   * @return true if {@link #await()} does not wait
   */
  public boolean isDone() {
    try {
      return isSettled || handle == null || handle.call(NativeWork::is_done);
    } catch (IllegalStateException e) {
      return true; // settled meanwhile, and therefore freed
    }
  }

  private boolean awaitDone(long milliseconds) {
    if (handle == null) {
      return true;
    }
    try {
      if (!isSettled && !handle.call(work -> work.await(milliseconds))) {
        return false;
      }
      settle(handle, null);
    } catch (NativeException | IllegalArgumentException | IllegalStateException e) {
      settle(handle, failures.apply(e));
    }
    return true;
  }

  /** Keeps the first outcome, and frees the native operation. */
  private void settle(NativeHandle<NativeWork> operation, @Nullable RuntimeException failed) {
    synchronized (this) {
      if (!isSettled) {
        failure = failed;
        result = failed == null ? operation.call(results::of) : null;
        end.accept(failed);
        isSettled = true;
      }
    }
    operation.close();
  }

  @SuppressWarnings("NullAway") // null only if T is Void
  private synchronized T settled() {
    if (failure != null) {
      throw failure;
    }
    return result;
  }
}
