// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Counters of this process that Linux keeps. */
final class ProcessStatus {
  private static final Path SELF = Path.of("/proc/self");

  private ProcessStatus() {}

  /** Returns the memory that the process has touched and still has, in bytes; 0 elsewhere. */
  static long residentBytes() {
    return sum(SELF, "VmRSS:") * 1024;
  }

  /**
   * Returns how often a thread of the process has left a processor, because it waited or another
   * one needed it; without threads that have ended; 0 elsewhere.
   */
  static long switches() {
    long switches = 0;
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(SELF.resolve("task"))) {
      for (Path thread : threads) {
        switches +=
            sum(thread, "voluntary_ctxt_switches:") + sum(thread, "nonvoluntary_ctxt_switches:");
      }
      return switches;
    } catch (IOException e) {
      return 0;
    }
  }

  private static long sum(Path folder, String name) {
    try {
      return Files.readAllLines(folder.resolve("status")).stream()
          .filter(line -> line.startsWith(name))
          .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
          .sum();
    } catch (IOException e) {
      return 0; // a thread that has ended, or another system
    }
  }
}
