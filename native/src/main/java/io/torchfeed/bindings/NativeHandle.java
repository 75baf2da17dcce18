// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;

/**
 * An owner of a native object that is never freed during a call.
 *
 * <p>{@link #close} may be called at any time from any thread and has no effect the second time;
 * the object is freed by {@code close}, or by the last call still running at that time. Afterwards
 * every call throws {@link IllegalStateException}. As thread-safe as the native object.
 *
 * @param <P> the generated class of the native object
 */
public final class NativeHandle<P extends Pointer> implements AutoCloseable {
  private static final int CLOSED = Integer.MIN_VALUE;

  private final Object name;
  private final P pointer;
  private final AtomicInteger users = new AtomicInteger();

  private NativeHandle(Object name, P pointer) {
    this.name = name;
    this.pointer = pointer;
  }

  /**
   * Creates a native object, outside of any {@link PointerScope} of the caller, and its owner.
   *
   * @param name the name of the object in messages, for example {@code DataLoader}, or an object
   *     whose {@code toString} makes it when a message needs it
   */
  public static <P extends Pointer> NativeHandle<P> create(Object name, Supplier<P> factory) {
    return new NativeHandle<>(name, outsideOfScopes(factory));
  }

  /** Runs {@code factory} and keeps its result out of every {@link PointerScope} of this thread. */
  public static <P extends Pointer> P outsideOfScopes(Supplier<P> factory) {
    Facade.load();
    try (PointerScope scope = new PointerScope()) {
      P pointer = factory.get();
      pointer.retainReference(); // detach gives up one reference
      scope.detach(pointer);
      return pointer;
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /** Calls into the native object; native failures are {@linkplain NativeException translated}. */
  public <R> R call(Function<? super P, ? extends R> body) {
    acquire();
    try {
      return body.apply(pointer);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    } finally {
      release();
    }
  }

  /** Like {@link #call}, for a {@code long} result. */
  public long callLong(ToLongFunction<? super P> body) {
    acquire();
    try {
      return body.applyAsLong(pointer);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    } finally {
      release();
    }
  }

  /** Like {@link #call}, without a result. */
  public void run(Consumer<? super P> body) {
    acquire();
    try {
      body.accept(pointer);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    } finally {
      release();
    }
  }

  /** Keeps the native object alive until {@link #release}, for children that outlive a call. */
  public void acquire() {
    if (users.getAndUpdate(n -> n < 0 ? n : n + 1) < 0) {
      throw new IllegalStateException(name + " is closed");
    }
  }

  /** Ends one {@link #acquire}. */
  public void release() {
    if (users.decrementAndGet() == CLOSED) {
      pointer.close();
    }
  }

  public boolean isClosed() {
    return users.get() < 0;
  }

  @Override
  public void close() {
    if (users.getAndUpdate(n -> n < 0 ? n : n + CLOSED) == 0) {
      pointer.close();
    }
  }
}
