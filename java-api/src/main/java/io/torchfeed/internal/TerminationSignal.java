// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The signals by which a process is asked to end, SIGTERM and SIGINT.
 *
 * <p>Without this, the JVM runs its shutdown hooks while the program's threads continue. Here the
 * program ends by itself, with its own exit status. {@code sun.misc.Signal} is part of every JDK,
 * in the module {@code jdk.unsupported}; reflection avoids the compiler's warning about it.
 */
public final class TerminationSignal {
  private static final List<String> NAMES = List.of("TERM", "INT");

  private TerminationSignal() {}

  /**
   * Runs an action instead of ending the JVM. A signal that comes a second time ends it as usual;
   * one that this process ignores, as in the background of a shell, is still ignored.
   *
   * @param action called in a thread of the JVM, at most once for each of the two signals
   * @throws IllegalStateException if the JVM does not allow it, for example with {@code -Xrs}
   */
  public static void handle(Runnable action) {
    try {
      for (String name : NAMES) {
        handle(name, action);
      }
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(
          "SIGTERM and SIGINT cannot be handled: " + Failures.reason(e.getTargetException()), e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "SIGTERM and SIGINT cannot be handled: the JDK lacks the module jdk.unsupported", e);
    }
  }

  private static void handle(String name, Runnable action) throws ReflectiveOperationException {
    Class<?> signals = Class.forName("sun.misc.Signal");
    Class<?> handlers = Class.forName("sun.misc.SignalHandler");
    Method handle = signals.getMethod("handle", signals, handlers);
    Object signal = signals.getConstructor(String.class).newInstance(name);
    Object ignored = handlers.getField("SIG_IGN").get(null);
    AtomicReference<Object> before = new AtomicReference<>(ignored);
    AtomicBoolean hasCome = new AtomicBoolean();
    Object handler =
        Proxy.newProxyInstance(
            TerminationSignal.class.getClassLoader(),
            new Class<?>[] {handlers},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "handle" -> {
                    if (hasCome.compareAndSet(false, true)) {
                      handle.invoke(null, signal, before.get());
                      action.run();
                    }
                    yield null;
                  }
                  case "equals" -> proxy == arguments[0];
                  case "hashCode" -> System.identityHashCode(proxy);
                  default -> "the first SIG" + name;
                });
    before.set(handle.invoke(null, signal, handler));
    if (before.get() == ignored || hasCome.get()) {
      handle.invoke(null, signal, before.get());
    }
  }
}
