// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The threads, files and memory of a process on Linux.
 *
 * @param process its number
 * @param natives threads that are none of Java's
 * @param threads the names of Java's threads without their numbers, and how many have each
 * @param files open files and sockets
 * @param kilobytes resident memory
 */
record ProcessUsage(
    long process, long natives, Map<String, Long> threads, long files, long kilobytes)
    implements Serializable {
  static ProcessUsage now() {
    try {
      System.gc(); // releases files and memory, too
      Map<String, Long> threads =
          Thread.getAllStackTraces().keySet().stream()
              .collect(
                  groupingBy(
                      thread -> thread.getName().replaceAll("[0-9:.]+", "N"),
                      TreeMap::new,
                      counting()));
      long ofJava = threads.values().stream().mapToLong(Long::longValue).sum();
      return new ProcessUsage(
          ProcessHandle.current().pid(),
          count("/proc/self/task") - ofJava,
          threads,
          count("/proc/self/fd"),
          Files.readAllLines(Path.of("/proc/self/status")).stream()
              .filter(line -> line.startsWith("VmRSS:"))
              .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
              .sum());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the threads of torchfeed. */
  Map<String, Long> own() {
    return threads.entrySet().stream()
        .filter(thread -> thread.getKey().startsWith("torchfeed"))
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private static long count(String folder) throws IOException {
    try (Stream<Path> entries = Files.list(Path.of(folder))) {
      return entries.count();
    }
  }
}
