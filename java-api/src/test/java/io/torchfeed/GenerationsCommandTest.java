// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GenerationsCommandTest {
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();

  private int run(String... args) {
    PrintStream out = new PrintStream(output, true, StandardCharsets.UTF_8);
    return GenerationsCommand.run(List.of(args), out, out);
  }

  private static void note(Path folder, int number, String fields) throws IOException {
    Path own = Files.createDirectories(folder.resolve("generation-1." + number));
    Files.writeString(
        own.resolve("generation.json"),
        "{\"version\":1,\"run\":1,\"number\":%d,%s,\"began\":\"2026-01-02T03:04:05.678Z\"}"
            .formatted(number, fields));
  }

  @Test
  void generationsAreListedOldestFirst(@TempDir Path folder) throws IOException {
    note(
        folder,
        10,
        "\"ranks\":2,\"origin\":\"RANK_ZERO\",\"step\":120,\"epoch\":1,\"samples\":480");
    note(folder, 9, "\"ranks\":3,\"origin\":\"START\",\"step\":0,\"epoch\":0,\"samples\":0");
    Path state = Files.createDirectory(folder.resolve("generation-1.10/step-000120"));
    assertThat(run(folder.toString())).isZero();
    assertThat(output.toString(StandardCharsets.UTF_8).lines().map(line -> line.split(" +")))
        .containsExactly(
            "generation step ranks epoch samples from began state".split(" "),
            "1.9 0 3 0 0 start 2026-01-02T03:04:05Z -".split(" "),
            ("1.10 120 2 1 480 rank_zero 2026-01-02T03:04:05Z " + state).split(" "));
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h"})
  void theArgumentsAreHelp(String option) {
    assertThat(run(option)).isZero();
    assertThat(output.toString(StandardCharsets.UTF_8)).startsWith("generations FOLDER: lists the");
  }

  @Test
  void namesOfFoldersDoNotChangeTheTerminal(@TempDir Path temporary) throws IOException {
    Path folder = Files.createDirectory(temporary.resolve("g\u001b[2J"));
    note(folder, 1, "\"ranks\":3,\"origin\":\"START\",\"step\":0,\"epoch\":0,\"samples\":0");
    Files.createDirectory(folder.resolve("generation-1.1/step-000000"));
    assertThat(run(folder.toString())).isZero();
    assertThat(run(folder.resolve("none").toString())).isEqualTo(1);
    assertThat(output.toString(StandardCharsets.UTF_8))
        .contains("g\\u001b[2J")
        .doesNotContain("\u001b");
  }

  @Test
  void otherArgumentsAndFoldersAreErrors(@TempDir Path folder) throws IOException {
    assertThat(run()).isEqualTo(2);
    assertThat(run(folder.resolve("none").toString())).isEqualTo(1);
    note(folder, 1, "\"ranks\":2");
    assertThat(run(folder.toString())).isEqualTo(1);
    assertThat(output.toString(StandardCharsets.UTF_8))
        .contains("error: generations FOLDER is expected, got ")
        .contains("none is not a folder")
        .contains("the note of generation-1.1 lacks the field origin");
  }
}
