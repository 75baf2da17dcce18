// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;
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
  void aWrongOptionIsAUsageError(String argument, String message) {
    assertThat(commandLine().execute(argument)).isEqualTo(2);
    assertThat(output.toString()).contains(message).contains("rank --help");
  }

  @Test
  void aFileThatIsNotThereIsNamed(@TempDir Path folder) {
    String missing = folder.resolve("none.csv").toString();
    assertThat(commandLine().execute("--data", missing, "--out", folder.toString())).isEqualTo(1);
    assertThat(output.toString()).contains("error: " + missing + " does not exist");
  }

  @Test
  void aRankGetsTheLaunchersRun() {
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
  void aNewRunGetsAFolderOfItsOwnBelowRuns() {
    assertThat(parse().out().toString()).matches("runs/text-graph-\\d{8}-\\d{6}");
  }

  @Test
  void theCacheIsTheUsers() {
    assertThat(Launch.cache(Map.of("XDG_CACHE_HOME", "/c")))
        .isEqualTo(Path.of("/c/torchfeed/text-graph"));
    assertThat(Launch.cache(Map.of("XDG_CACHE_HOME", "")))
        .isEqualTo(Path.of(System.getProperty("user.home"), ".cache", "torchfeed", "text-graph"));
  }
}
