// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MainTest {
  private final StringWriter output = new StringWriter();

  private CommandLine commandLine() {
    return Main.commandLine(Map.of())
        .setOut(new PrintWriter(output, true))
        .setErr(new PrintWriter(output, true));
  }

  private Settings parse(String... arguments) {
    CommandLine command = commandLine();
    command.parseArgs(arguments);
    return command.<Main>getCommand().settings();
  }

  @ParameterizedTest
  @CsvSource({
    "--ranks=0, '--ranks must be in [1, 64], got 0'",
    "--edges=0, '--edges must be in [1, 1000000000], got 0'",
    "--iterations=0, '--iterations must be in [1, 10000], got 0'",
    "--damping=1, '--damping must be in [0, 1), got 1.0'",
    "--damping=NaN, '--damping must be in [0, 1), got NaN'",
    "--rank=3, Unknown option"
  })
  void anInvalidOptionIsAUsageError(String argument, String message) {
    assertThat(commandLine().execute(argument)).isEqualTo(2);
    assertThat(output.toString()).contains(message).contains("rank --help");
  }

  /** Runs a rank in its own process, because environment variables belong to a process. */
  @ParameterizedTest
  @CsvSource({
    "0, 2, MASTER_ADDR must be set",
    "5, 2, 'RANK must be an integer in [0, 1], got ''5'''",
    "0, , WORLD_SIZE must be set",
    "0, many, 'WORLD_SIZE must be an integer at least 1, got ''many'''"
  })
  void anInvalidEnvironmentExitsWithCodeTwoAndOneLine(
      String rank, @Nullable String worldSize, String message, @TempDir Path folder)
      throws Exception {
    Path output = folder.resolve("output");
    ProcessBuilder builder =
        new ProcessBuilder(
                TestJvm.command(List.of(), Main.class.getName(), "--out=" + folder.resolve("run")))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    builder.environment().keySet().removeAll(List.of("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"));
    builder.environment().put("RANK", rank);
    if (worldSize != null) {
      builder.environment().put("WORLD_SIZE", worldSize);
    }
    Process process = builder.start();
    try {
      assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
      assertThat(TestJvm.lines(output)).singleElement().asString().contains("error: ", message);
      assertThat(process.exitValue()).isEqualTo(2);
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aMissingFileIsNamed(@TempDir Path folder) {
    String missing = folder.resolve("none.csv").toString();
    assertThat(commandLine().execute("--data", missing, "--out", folder.toString())).isEqualTo(2);
    assertThat(output.toString()).contains("error: " + missing + " does not exist");
  }

  @Test
  void aFolderThatCannotBeWrittenIsAUsageError(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "");
    for (Path out : List.of(file, file.resolve("run"))) {
      assertThat(commandLine().execute("--edges=10", "--out=" + out)).isEqualTo(2);
      assertThat(output.toString())
          .contains("--out must be a folder that can be created and written, got " + out + " (");
    }
  }

  @Test
  void moreRanksThanTheMachineHasRoomForAreRefused(@TempDir Path folder) {
    int many = 4 * Runtime.getRuntime().availableProcessors() + 1;
    Path out = folder.resolve("run");
    assertThat(commandLine().execute("--ranks=" + many, "--out=" + out)).isEqualTo(2);
    assertThat(output.toString())
        .contains("error: --ranks must be at most " + (many - 1))
        .contains("start fewer, or set oversubscribe");
    assertThat(out).doesNotExist();
    assertThat(parse("--ranks=" + many, "--oversubscribe").oversubscribe()).isTrue();
  }

  @Test
  void aRankReceivesTheSettingsOfTheLauncher() {
    Settings launcher =
        parse("--ranks=3", "--damping=0.5", "--seed=9", "--check", "--progress=bar", "--out=o")
            .with("/data/*.csv");
    Settings rank = parse(launcher.toArguments().toArray(new String[0]));
    assertThat(rank.toArguments()).isEqualTo(launcher.toArguments());
    assertThat(rank.data()).isEqualTo("/data/*.csv");
    assertThat(rank.check()).isTrue();
    assertThat(rank.bar()).isTrue();
  }

  @Test
  void aNewRunGetsItsOwnFolderInRuns() {
    assertThat(parse().out().toString()).matches("runs/text-graph-\\d{8}-\\d{6}");
  }

  @Test
  void theCacheBelongsToTheUser() {
    assertThat(Launch.cache(Map.of("XDG_CACHE_HOME", "/c")))
        .isEqualTo(Path.of("/c/torchfeed/text-graph"));
    assertThat(Launch.cache(Map.of("XDG_CACHE_HOME", "")))
        .isEqualTo(Path.of(System.getProperty("user.home"), ".cache", "torchfeed", "text-graph"));
  }
}
