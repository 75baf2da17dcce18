// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs copies of the start scripts in a folder where nothing is built. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StartScriptsTest {
  private static final Path BENCHMARKS = Path.of("../benchmarks");

  private Path folder = Path.of("");

  @BeforeEach
  void copyScripts(@TempDir Path folder) throws IOException {
    this.folder = folder;
    try (Stream<Path> files = Files.list(BENCHMARKS)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Files.copy(file, folder.resolve(file.getFileName()));
      }
    }
    Files.createDirectory(folder.resolve("peers"));
    Files.copy(BENCHMARKS.resolve("peers/compare"), folder.resolve("peers/compare"));
  }

  private void pretendToBeBuilt() throws IOException {
    Files.createDirectory(folder.resolve("target"));
    Files.writeString(folder.resolve("target/classpath"), "none.jar");
  }

  /** Returns the lines that a script wrote, followed by its exit status. */
  private List<String> run(Map<String, String> variables, String... command) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    builder.environment().putAll(variables);
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    List<String> lines = new ArrayList<>(output.lines().toList());
    lines.add(Integer.toString(process.waitFor()));
    return lines;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "collectives",
        "coordinator",
        "device-loaders",
        "elastic",
        "joins",
        "loaders",
        "permutations",
        "samplers",
        "startup",
        "text",
        "transfer",
        "ways",
        "workers"
      })
  void aMissingBuildIsReportedInOneLine(String script) throws Exception {
    List<String> said = run(Map.of(), "./" + script);
    assertThat(said).hasSize(2).last().isEqualTo("1");
    assertThat(said.get(0)).startsWith(script + ": ").contains("classpath is missing; run mvn");
  }

  @ParameterizedTest
  @CsvSource({
    "device-loaders, 'device-loaders: no arguments are taken, got --help'",
    "coordinator, 'coordinator: SILENCE_MILLIS, SECONDS and RANKS must be at least 1, got ''--help'''",
    "elastic, 'elastic: ROUNDS, STEPS and MEGABYTES must be at least 1, got ''--help'''",
  })
  void scriptsRejectWrongArguments(String script, String message) throws Exception {
    pretendToBeBuilt();
    assertThat(run(Map.of(), "./" + script, "--help")).containsExactly(message, "2");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "many", "-1", "1.5"})
  void anInvalidNumberExitsWithCodeTwo(String number) throws Exception {
    pretendToBeBuilt();
    for (var wanted : Map.of("samplers", "ROUNDS", "device-loaders", "SECONDS_EACH").entrySet()) {
      String script = wanted.getKey();
      assertThat(run(Map.of(wanted.getValue(), number), "./" + script))
          .containsExactly(
              "%s: %s must be an integer, at least 1, got '%s'"
                  .formatted(script, wanted.getValue(), number),
              "2");
    }
    assertThat(run(Map.of(), "./startup", "--rounds", "0")).last().isEqualTo("2");
  }

  @Test
  void aMissingJavaIsReported() throws Exception {
    pretendToBeBuilt();
    assertThat(run(Map.of("JAVA_HOME", "/no/such/folder"), "./permutations"))
        .hasSize(2)
        .first()
        .asString()
        .startsWith("permutations: Java is missing at /no/such/folder/bin/java");
  }

  @Test
  void aPeerWithoutTorchExitsWithCodeTwo() throws Exception {
    assertThat(run(Map.of("TORCHFEED_PEER_PYTHON", "/no/such/python"), "peers/compare"))
        .containsExactly(
            "compare: TORCHFEED_PEER_PYTHON must name an interpreter with the packages of"
                + " requirements.txt, got '/no/such/python'",
            "2");
  }
}
