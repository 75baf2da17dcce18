// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Figures of the kernel of Linux. */
public final class Kernel {
  private static final Path COUNTERS = Path.of("/proc/self/net/dev");
  private static final int HEADER_LINES = 2;
  private static final int SENT_BYTES = 8; // the ninth number after the interface's name
  private static final double TICKS_PER_SECOND = 100;

  private Kernel() {}

  /**
   * Returns the bytes that this machine has sent: over all network interfaces, of all programs,
   * with headers and acknowledgements; 0 where they are not counted. Ranks of one machine send over
   * the loopback.
   *
   * @return at least 0
   */
  public static long sentBytes() {
    try {
      return sentBytes(Files.readAllLines(COUNTERS));
    } catch (IOException e) {
      return 0;
    }
  }

  /**
   * Returns the bytes sent, of the lines of {@code /proc/net/dev}.
   *
   * @param lines with two of a header
   * @return the sum over the interfaces
   */
  static long sentBytes(List<String> lines) {
    return lines.stream()
        .skip(HEADER_LINES)
        .map(line -> line.substring(line.indexOf(':') + 1).trim().split("\\s+"))
        .mapToLong(numbers -> Long.parseLong(numbers[SENT_BYTES]))
        .sum();
  }

  /**
   * Returns the seconds since this process started, including the start of the JVM.
   *
   * @return the seconds
   */
  public static double processSeconds() {
    try {
      // Both clocks count from boot; the JDK's start instant is off by up to a second.
      String stat = Files.readString(Path.of("/proc/self/stat"));
      String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      double started = Long.parseLong(afterName[19]) / TICKS_PER_SECOND;
      String uptime = Files.readString(Path.of("/proc/uptime"));
      return Double.parseDouble(uptime.substring(0, uptime.indexOf(' '))) - started;
    } catch (IOException | RuntimeException e) { // another system
      Instant started = ProcessHandle.current().info().startInstant().orElseGet(Instant::now);
      return Duration.between(started, Instant.now()).toMillis() / 1e3;
    }
  }
}
