// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/** A program that loads the presets' libtorch, nothing else, and prints the age of its process. */
public final class LoadLibtorch {
  private static final double TICKS_PER_SECOND = 100;

  private LoadLibtorch() {}

  /**
   * Loads libtorch and prints the seconds since the process started.
   *
   * @param args none
   * @throws IOException if the system has no /proc
   */
  public static void main(String[] args) throws IOException {
    Loader.load(torch.class);
    String stat = Files.readString(Path.of("/proc/self/stat"));
    String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    double started = Long.parseLong(afterName[19]) / TICKS_PER_SECOND;
    String uptime = Files.readString(Path.of("/proc/uptime"));
    System.out.println(Double.parseDouble(uptime.substring(0, uptime.indexOf(' '))) - started);
  }
}
