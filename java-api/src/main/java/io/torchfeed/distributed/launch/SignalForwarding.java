// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JdkSignal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Sends signals of this process on to its ranks; ends when it is closed. */
final class SignalForwarding implements AutoCloseable {
  /** The JVM uses the others itself, or they end a launch. */
  private static final List<String> POSSIBLE = List.of("USR1", "HUP");

  private final List<Runnable> undo = new ArrayList<>();

  private SignalForwarding() {}

  /** Returns the names; throws if one cannot be forwarded. */
  static List<String> requirePossible(String... names) {
    List<String> all = Checks.copyOf("signals", Arrays.asList(names));
    for (String each : all) {
      if (!POSSIBLE.contains(each)) {
        throw new IllegalArgumentException(
            "a forwarded signal must be one of %s, got '%s'".formatted(POSSIBLE, each));
      }
    }
    return all;
  }

  /**
   * Starts to forward.
   *
   * @param names of {@link #POSSIBLE}; one that this process ignores is still ignored
   * @throws IllegalStateException if the JVM does not allow it, for example with {@code -Xrs}
   */
  static SignalForwarding start(List<String> names, RankProcesses to) {
    SignalForwarding forwarding = new SignalForwarding();
    try {
      for (String name : names) {
        forwarding.add(name, to);
      }
      return forwarding;
    } catch (IllegalStateException e) {
      forwarding.close();
      throw e;
    }
  }

  private void add(String name, RankProcesses to) {
    JdkSignal signal = JdkSignal.of(name);
    Object before = signal.handle(() -> to.signal(name));
    if (signal.isIgnored(before)) {
      signal.restore(before);
    } else {
      undo.add(() -> signal.restore(before));
    }
  }

  @Override
  public void close() {
    undo.forEach(Runnable::run);
    undo.clear();
  }
}
