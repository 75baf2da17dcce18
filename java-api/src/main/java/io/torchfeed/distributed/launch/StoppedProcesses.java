// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Processes that a signal has stopped, such as SIGSTOP, and that none may ever continue. */
final class StoppedProcesses {
  private StoppedProcesses() {}

  /** Returns whether a process is stopped; false where the system has no {@code /proc}. */
  static boolean isStopped(long pid) {
    try {
      byte[] bytes = Files.readAllBytes(Path.of("/proc", Long.toString(pid), "stat"));
      String line = new String(bytes, StandardCharsets.ISO_8859_1);
      int name = line.lastIndexOf(')'); // the name may contain anything
      return line.startsWith("T", name + 2);
    } catch (IOException e) {
      return false; // it has exited, or this is no Linux
    }
  }
}
