// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.util.Objects.requireNonNull;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * The signals by which a process is asked to end, such as SIGTERM and SIGINT.
 *
 * <p>Without this, the JVM runs its shutdown hooks while the program's threads continue. Here the
 * program ends by itself, with its own exit status.
 */
public final class TerminationSignal {
  private TerminationSignal() {}

  /**
   * Runs an action instead of ending the JVM. A signal that comes a second time ends it as usual;
   * one that this process ignores, as in the background of a shell, is still ignored.
   *
   * @param others more such signals than SIGTERM and SIGINT, without SIG
   * @param action called in a thread of the JVM, at most once for each signal
   * @throws IllegalStateException if the JVM does not allow it, for example with {@code -Xrs}
   */
  public static void handle(List<String> others, Runnable action) {
    Stream.concat(Stream.of("TERM", "INT"), others.stream())
        .forEach(name -> handle(JdkSignal.of(name), action));
  }

  private static void handle(JdkSignal signal, Runnable action) {
    AtomicReference<Object> before = new AtomicReference<>(signal.ignored());
    AtomicBoolean hasCome = new AtomicBoolean();
    Object previous =
        signal.handle(
            () -> {
              if (hasCome.compareAndSet(false, true)) {
                signal.restore(requireNonNull(before.get()));
                action.run();
              }
            });
    before.set(previous);
    if (signal.isIgnored(previous) || hasCome.get()) {
      signal.restore(previous);
    }
  }
}
