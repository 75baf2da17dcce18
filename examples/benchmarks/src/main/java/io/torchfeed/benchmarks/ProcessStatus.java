// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Counters of this process that Linux keeps. */
final class ProcessStatus {
  private static final Path SELF = Path.of("/proc/self");

  private ProcessStatus() {}

  /** Returns the memory that the process has touched and still has, in bytes. */
  static long residentBytes() {
    try {
      return sum(Files.readAllLines(SELF.resolve("status")), "VmRSS:") * 1024;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns how often a thread of the process has left a processor, because it waited or another
   * one needed it; without threads that have ended.
   */
  static long switches() {
    long switches = 0;
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(SELF.resolve("task"))) {
      for (Path thread : threads) {
        switches += switches(thread);
      }
      return switches;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long switches(Path thread) {
    try {
      List<String> lines = Files.readAllLines(thread.resolve("status"));
      return sum(lines, "voluntary_ctxt_switches:") + sum(lines, "nonvoluntary_ctxt_switches:");
    } catch (IOException e) {
      return 0; // it has ended
    }
  }

  private static long sum(List<String> lines, String name) {
    return lines.stream()
        .filter(line -> line.startsWith(name))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .sum();
  }
}
