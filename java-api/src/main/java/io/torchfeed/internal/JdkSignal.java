// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * A signal of the operating system. {@code sun.misc.Signal} is part of every JDK, in the module
 * {@code jdk.unsupported}; reflection avoids the compiler's warning about it.
 */
public final class JdkSignal {
  private final String name;
  private final Object signal;
  private final Class<?> handlers;
  private final Method handle;
  private final Object ignored;

  private JdkSignal(String name) throws ReflectiveOperationException {
    this.name = name;
    Class<?> signals = Class.forName("sun.misc.Signal");
    handlers = Class.forName("sun.misc.SignalHandler");
    handle = signals.getMethod("handle", signals, handlers);
    signal = signals.getConstructor(String.class).newInstance(name);
    ignored = handlers.getField("SIG_IGN").get(null);
  }

  /**
   * Returns a signal.
   *
   * @param name without SIG
   * @throws IllegalStateException if this system has no such signal, or the JDK lacks the module
   */
  public static JdkSignal of(String name) {
    try {
      return new JdkSignal(name);
    } catch (InvocationTargetException e) {
      throw refused(name, e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "SIG" + name + " cannot be handled: the JDK lacks the module jdk.unsupported", e);
    }
  }

  private static IllegalStateException refused(String name, InvocationTargetException e) {
    return new IllegalStateException(
        "SIG" + name + " cannot be handled: " + Failures.reason(e.getTargetException()), e);
  }

  /**
   * Sets an action for each time the signal comes, in a thread of the JVM.
   *
   * @return the handler before, for {@link #restore}
   * @throws IllegalStateException if the JVM does not allow it, for example with {@code -Xrs}
   */
  public Object handle(Runnable action) {
    return set(
        Proxy.newProxyInstance(
            JdkSignal.class.getClassLoader(),
            new Class<?>[] {handlers},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "handle" -> {
                    action.run();
                    yield null;
                  }
                  case "equals" -> proxy == arguments[0];
                  case "hashCode" -> System.identityHashCode(proxy);
                  default -> "a handler of SIG" + name;
                }));
  }

  /** Sets a handler that {@link #handle} has returned. */
  public void restore(Object handler) {
    set(handler);
  }

  private Object set(Object handler) {
    try {
      return handle.invoke(null, signal, handler);
    } catch (InvocationTargetException e) {
      throw refused(name, e);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("SIG" + name + " cannot be handled", e);
    }
  }

  /** Returns whether a handler ignores the signal, as in the background of a shell. */
  public boolean isIgnored(Object handler) {
    return handler == ignored;
  }

  /** Returns the handler that ignores the signal. */
  public Object ignored() {
    return ignored;
  }
}
