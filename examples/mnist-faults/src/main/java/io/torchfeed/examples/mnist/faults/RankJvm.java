// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command that starts a rank. */
final class RankJvm {
  private RankJvm() {}

  /** Returns the command up to the arguments of the rank. */
  static List<String> command() {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                "-Xmx192m",
                "-Dorg.bytedeco.javacpp.platform.extension=", // no search for CUDA
                "-Dorg.bytedeco.javacpp.maxBytes=0",
                "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"));
    String archive = System.getProperty("torchfeed.example.archive");
    if (archive != null) {
      command.add("-XX:SharedArchiveFile=" + archive);
      command.add("-Xlog:disable");
    }
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), FaultRank.class.getName()));
    return command;
  }
}
