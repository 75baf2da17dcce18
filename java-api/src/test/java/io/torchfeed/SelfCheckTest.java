// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class SelfCheckTest {
  @Test
  void findsAWorkingLibrary() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    boolean healthy = SelfCheck.run(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    assertThat(bytes.toString(StandardCharsets.UTF_8))
        .contains("libtorch   2.10.0, facade compiled for 2.10.0")
        .contains("loaded     jnitorchfeed from ")
        .contains("sampler    [0, 2, 1, 5, 9, 8, 4, 7, 6, 3]")
        .contains("gather     5 rows in 3 batches, all correct")
        .contains("result     ok");
    assertThat(healthy).isTrue();
  }

  @Test
  void exitsWithCode1AndAHintWhenTheLibrariesAreMissing() throws Exception {
    String withoutPlatformJar =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !(entry.contains("pytorch") && entry.contains("x86_64")))
            .collect(Collectors.joining(File.pathSeparator));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                withoutPlatformJar,
                "io.torchfeed.Torchfeed")
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).isEqualTo(1);
    assertThat(output).contains("libtorch   FAILED: ").contains("hint: put torchfeed-native");
    assertThat(output).contains("result     NOT OK");
  }

  @Test
  void anArgumentCausesAOneLineErrorAndExitCode2() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "io.torchfeed.Torchfeed",
                "--verbose")
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).isEqualTo(2);
    assertThat(output.lines())
        .containsExactly(
            "error: no arguments or images pack FOLDER FILE | images verify FILE are expected, got"
                + " --verbose");
  }

  @Test
  void versionsMatchTheBuild() {
    assertThat(Torchfeed.version()).matches("\\d+\\.\\d+\\.\\d+.*");
    assertThat(Torchfeed.libtorchVersion()).isEqualTo("2.10.0");
  }
}
