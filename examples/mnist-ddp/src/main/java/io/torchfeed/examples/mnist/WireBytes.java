// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The bytes that this machine has sent, as the kernel counts them: over all network interfaces, of
 * all programs, with headers and acknowledgements. Ranks of one machine send over the loopback.
 */
final class WireBytes {
  private static final Path COUNTERS = Path.of("/proc/self/net/dev");
  private static final int HEADER_LINES = 2;
  private static final int SENT_BYTES = 8; // the ninth number after the interface's name

  private WireBytes() {}

  /** Returns the bytes sent since the machine started; 0 where the system does not count them. */
  static long sent() {
    try {
      return sum(Files.readAllLines(COUNTERS));
    } catch (IOException e) {
      return 0;
    }
  }

  static long sum(List<String> lines) {
    return lines.stream()
        .skip(HEADER_LINES)
        .map(line -> line.substring(line.indexOf(':') + 1).trim().split("\\s+"))
        .mapToLong(numbers -> Long.parseLong(numbers[SENT_BYTES]))
        .sum();
  }
}
