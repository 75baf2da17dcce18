// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The status of this process as reported by Linux. */
public final class ProcessStatus {
  private ProcessStatus() {}

  public static long threads() throws IOException {
    return read("Threads:");
  }

  public static long residentKib() throws IOException {
    return read("VmRSS:");
  }

  private static long read(String key) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(key)) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException("no " + key);
  }
}
