// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/** The time since this process started, including the start of the JVM. */
final class ProcessAge {
  private static final double TICKS_PER_SECOND = 100;

  private ProcessAge() {}

  static double seconds() {
    try {
      // Linux: both clocks count from boot; the JDK's start instant is off by up to a second there.
      String stat = Files.readString(Path.of("/proc/self/stat"));
      String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      double started = Long.parseLong(afterName[19]) / TICKS_PER_SECOND;
      String uptime = Files.readString(Path.of("/proc/uptime"));
      return Double.parseDouble(uptime.substring(0, uptime.indexOf(' '))) - started;
    } catch (IOException | RuntimeException e) {
      Instant started = ProcessHandle.current().info().startInstant().orElseGet(Instant::now);
      return Duration.between(started, Instant.now()).toMillis() / 1e3;
    }
  }
}
