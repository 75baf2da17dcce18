// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticRunTest {
  private static final int EPOCHS = 60;

  @TempDir Path folder = Path.of("");

  @Test
  void trainingContinuesWhenARankIsKilled() throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    Path out = folder.resolve("out");
    Process launcher =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx128m",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName(),
                "--ranks=3",
                "--elastic=2",
                "--batch-size=4",
                "--threads=1",
                "--epochs=" + EPOCHS,
                "--verified-data=" + data,
                "--out=" + out)
            .redirectErrorStream(true)
            .start();
    List<String> lines = new ArrayList<>();
    try (BufferedReader output = launcher.inputReader(StandardCharsets.UTF_8)) {
      boolean isKilled = false;
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        lines.add(line);
        if (!isKilled && line.contains("epoch 1 of 3 ranks")) {
          isKilled = launcher.children().skip(1).findFirst().orElseThrow().destroyForcibly();
        }
      }
      assertThat(launcher.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(launcher.exitValue()).as("%s", lines).isZero();
    } finally {
      launcher.descendants().forEach(ProcessHandle::destroyForcibly);
      launcher.destroyForcibly();
    }
    assertThat(lines)
        .anyMatch(line -> line.startsWith("coordinator: ") && line.contains(" was lost: "))
        .anyMatch(line -> line.matches(".*epoch " + EPOCHS + " of [23] ranks: test accuracy .* %"));
    assertThat(Files.readString(out.resolve("checkpoints/LATEST"))).startsWith("step-");
  }

  @ParameterizedTest
  @CsvSource({
    "--elastic=0, '--elastic must be in [1, --ranks], got 0 with --ranks 2'",
    "--elastic=3, '--elastic must be in [1, --ranks], got 3 with --ranks 2'",
    "--elastic --device=cuda, --elastic excludes --device",
    "--elastic --augment, --elastic excludes --device",
    "--elastic --comm=qadam, '--elastic must be at least 2, got 1'",
    "--elastic --from-generation=1.1 --out=none, there is no generation 1.1 in none",
    "--from-generation=1.1, --from-generation needs --elastic",
    "--elastic=few, few"
  })
  void anInvalidOptionIsAUsageError(String arguments, String message) {
    StringWriter output = new StringWriter();
    int status =
        Main.commandLine(Map.of())
            .setErr(new PrintWriter(output, true))
            .execute(arguments.split(" "));
    assertThat(status).isEqualTo(2);
    assertThat(output.toString()).contains(message).contains("train --help");
  }
}
