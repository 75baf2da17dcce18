// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.io.IOException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A computation on a thread of its own, over memory of the caller: it has ended when {@link #close}
 * returns.
 *
 * @param <T> the result
 */
public final class Aside<T> implements AutoCloseable {
  /**
   * A computation.
   *
   * @param <T> the result
   */
  @FunctionalInterface
  public interface Computation<T> {
    /**
     * Computes the result.
     *
     * @param isStopped whether no one wants it any more: then anything may be thrown
     * @throws IOException if it cannot
     */
    T run(BooleanSupplier isStopped) throws IOException;
  }

  private final Thread thread;
  private volatile boolean isStopped;
  private volatile @Nullable T result;
  private volatile @Nullable Throwable failure;

  private Aside(String name, Computation<T> computation) {
    thread =
        new Thread(
            () -> {
              try {
                result = computation.run(() -> isStopped);
              } catch (Throwable e) {
                failure = e;
              }
            },
            name);
    thread.setDaemon(true);
  }

  /**
   * Starts a computation.
   *
   * @param name of its thread
   * @return the computation; the caller closes it
   */
  public static <T> Aside<T> start(String name, Computation<T> computation) {
    Aside<T> aside = new Aside<>(name, computation);
    aside.thread.start();
    return aside;
  }

  /**
   * Waits for the result.
   *
   * @throws IOException if it cannot be computed
   */
  public T await() throws IOException {
    Joins.join(thread);
    T computed = result;
    if (computed == null) {
      Throwable thrown = failure;
      throw new IOException(thrown == null ? "no result" : thrown.getMessage(), thrown);
    }
    return computed;
  }

  /** Stops the computation, and waits until it has ended. */
  @Override
  public void close() {
    isStopped = true;
    Joins.join(thread);
  }
}
