// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/**
 * The memory that new processes can take before this machine swaps or kills: as much as Linux calls
 * available and the control groups of this process leave.
 */
public final class FreeMemory {
  private static final String AVAILABLE = "MemAvailable:";
  private static final String KIB = " kB";

  /** Page cache that the kernel gives up before it enforces a limit. */
  private static final String RECLAIMABLE = "inactive_file ";

  private FreeMemory() {}

  /**
   * Returns the memory that is available.
   *
   * @return in bytes; empty where this cannot be read, as on other systems than Linux
   */
  public static OptionalLong bytes() {
    return bytes(Path.of("/"));
  }

  /**
   * Returns the memory that is available.
   *
   * @param root the folder in which {@code proc} and {@code sys} are
   */
  static OptionalLong bytes(Path root) {
    try {
      OptionalLong available = ofMachine(root);
      if (available.isEmpty()) {
        return available;
      }
      return OptionalLong.of(Math.min(available.getAsLong(), ofGroups(root)));
    } catch (IOException | NumberFormatException e) {
      return OptionalLong.empty(); // not Linux, or unreadable: then nothing can be said
    }
  }

  private static OptionalLong ofMachine(Path root) throws IOException {
    return Files.readAllLines(root.resolve("proc/meminfo")).stream()
        .filter(line -> line.startsWith(AVAILABLE) && line.endsWith(KIB))
        .mapToLong(line -> 1024 * number(line.substring(AVAILABLE.length()).replace(KIB, "")))
        .findFirst();
  }

  /** Returns the memory left by the group of this process and the groups around it. */
  private static long ofGroups(Path root) throws IOException {
    Path groups = root.resolve("sys/fs/cgroup");
    long least = ofGroup(groups);
    for (String line : lines(root.resolve("proc/self/cgroup"))) {
      if (!line.startsWith("0::/")) {
        continue; // a group of version 1
      }
      Path group = groups;
      for (Path folder : Path.of(line.substring("0::/".length()))) {
        group = group.resolve(folder);
        least = Math.min(least, ofGroup(group));
      }
    }
    return least;
  }

  private static long ofGroup(Path group) throws IOException {
    List<String> limit = lines(group.resolve("memory.max"));
    List<String> used = lines(group.resolve("memory.current"));
    if (limit.isEmpty() || used.isEmpty() || limit.get(0).equals("max")) {
      return Long.MAX_VALUE;
    }
    long reclaimable =
        lines(group.resolve("memory.stat")).stream()
            .filter(line -> line.startsWith(RECLAIMABLE))
            .mapToLong(line -> number(line.substring(RECLAIMABLE.length())))
            .findFirst()
            .orElse(0);
    return Math.max(0, number(limit.get(0)) - number(used.get(0)) + reclaimable);
  }

  private static List<String> lines(Path file) throws IOException {
    return Files.isRegularFile(file) ? Files.readAllLines(file) : List.of();
  }

  private static long number(String text) {
    return Long.parseLong(text.strip());
  }
}
