// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of passes left by {@code break}, in a JVM whose heap stays almost empty. */
@Timeout(120)
class AbandonedPassesTest {
  private static final int LIMIT_MIB = 768; // of 1900 MiB that the passes take together

  @ParameterizedTest
  @CsvSource({
    "native, -XX:-DisableExplicitGC",
    "java, -XX:-DisableExplicitGC",
    "stream, -XX:-DisableExplicitGC",
    "native, -XX:+DisableExplicitGC",
    "java, -XX:+DisableExplicitGC",
    "stream, -XX:+DisableExplicitGC",
  })
  @EnabledOnOs(OS.LINUX)
  void passesLeftByBreakKeepMemoryAndThreadsBounded(
      String kind, String option, TestReporter reporter) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xms128m",
                "-Xmx128m",
                "-XX:+AlwaysPreTouch", // so that only memory outside of the heap grows
                option,
                "-cp",
                System.getProperty("java.class.path"),
                AbandonedPasses.class.getName(),
                kind,
                "300",
                "15000",
                Integer.toString(LIMIT_MIB))
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    reporter.publishEntry(option, output);
    assertThat(process.waitFor()).as(output).isZero();
  }
}
