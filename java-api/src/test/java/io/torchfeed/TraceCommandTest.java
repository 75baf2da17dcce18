// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import io.torchfeed.testing.TracedRanks;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TraceCommandTest {
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private final ByteArrayOutputStream errors = new ByteArrayOutputStream();
  private final Path folder;

  TraceCommandTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private int run(String... args) {
    return TraceCommand.run(
        List.of(args),
        new PrintStream(output, true, StandardCharsets.UTF_8),
        new PrintStream(errors, true, StandardCharsets.UTF_8));
  }

  private String errors() {
    return errors.toString(StandardCharsets.UTF_8);
  }

  private String merged(String... options) {
    String[] args = new String[options.length + 1];
    args[0] = folder.toString();
    System.arraycopy(options, 0, args, 1, options.length);
    assertThat(run(args)).as(this::errors).isZero();
    return output.toString(StandardCharsets.UTF_8);
  }

  private LauncherBuilder ranks(int ranks, String... arguments) {
    return Launcher.builder()
        .ranks(ranks)
        .mainClass(TracedRanks.class)
        .arguments(arguments)
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(String[]::new))
        .oversubscribe(true)
        .grace(Duration.ofSeconds(20));
  }

  private void failing(int ranks, String mode) {
    assertThatThrownBy(
            () ->
                ranks(ranks, mode).environment("TORCHFEED_TRACE", folder.toString()).build().run())
        .isInstanceOf(LaunchException.class);
  }

  @Test
  void aRankThatIsLateIsNamedWithItsSteps() throws Exception {
    ranks(2, "late", folder.toString()).build().run();
    String report = merged();
    List<String> steps =
        report.lines().dropWhile(line -> !line.contains("slowest rank")).skip(1).limit(5).toList();
    for (String step : List.of("5", "15", "25")) {
      assertThat(steps)
          .as(report)
          .anyMatch(line -> line.matches(" +" + step + " +1 +(0\\.[2-9]|[1-9]\\.)\\d+"));
    }
    assertThat(report).containsPattern("\n +0 +30 ").containsPattern("\n +1 +30 ");
    assertThat(folder.resolve("trace.perfetto-trace")).isNotEmptyFile();
  }

  @Test
  void aRankThatLeavesOutACallIsNamedWithItsCall() {
    failing(3, "skip");
    assertThat(merged())
        .contains("rank 1 never entered barrier, call ")
        .containsPattern(
            "rank 0 .* called barrier at .*TracedRanks.meet\\(TracedRanks.java:\\d+\\)")
        .containsPattern(
            "rank 1 .* called all-reduce at .*TracedRanks.sum\\(TracedRanks.java:\\d+\\)");
  }

  @Test
  void aRankInNoCallIsNamedWithItsPlace() throws Exception {
    failing(2, "silent");
    Path files = folder.resolve("recorder");
    assertThat(merged("--flight-recorder", files.toString()))
        .contains("rank 1 never entered barrier, call ")
        .containsPattern(
            "rank 0 .* called barrier at .*TracedRanks.meet\\(TracedRanks.java:\\d+\\)")
        .containsPattern(
            "rank 1 .*; it is at .*TracedRanks.doze\\(TracedRanks.java:\\d+\\), in .*sleep");
    assertThat(files.resolve("rank_0")).exists();
    TestPython.assume();
    try (TestJvm python =
        TestPython.start(
            folder,
            Map.of(),
            Path.of("src/test/golden/python_flight_recorder.py"),
            files.toString())) {
      int status = python.exitCode();
      String text = String.join("\n", python.output());
      assertThat(status).as(text).isZero();
      assertThat(text).contains("missing ranks: {1}");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--perfetto", "FOLDER --perfetto", "FOLDER --no x", "FOLDER x y"})
  void otherArgumentsAreRefused(String args) {
    assertThat(run(args.split(" ", -1))).isEqualTo(2);
    assertThat(errors())
        .isEqualTo("error: " + TraceCommand.USAGE + " is expected, got " + args + "\n");
  }

  @Test
  void aFolderWithoutDumpsIsNamed() throws Exception {
    Files.writeString(folder.resolve("other.txt"), "text");
    assertThat(run(folder.toString())).isEqualTo(1);
    assertThat(errors())
        .isEqualTo(
            "error: %s has no dump (*.tftrace); name the folder of TORCHFEED_TRACE or"
                .formatted(folder)
                .concat(" TraceOptions.to\n"));
    assertThat(run(folder + "/none")).isEqualTo(1);
    assertThat(run("--help")).isZero();
  }
}
