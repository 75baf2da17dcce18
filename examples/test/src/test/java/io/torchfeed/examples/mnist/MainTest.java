// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
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
import org.junit.jupiter.params.provider.ValueSource;
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
    "--ranks=0, '--ranks must be in [1, 1024], got 0'",
    "--epochs=0, '--epochs must be in [1, 1000000], got 0'",
    "--batch-size=60001, '--batch-size must be in [1, 60000], got 60001'",
    "--accumulate=0, '--accumulate must be in [1, 60000], got 0'",
    "--algorithm=ring, 'must be one of [allreduce, decentralized, shift-one, low-precision,'",
    "--algorithm=shift-one --ranks=3, '--algorithm shift-one pairs the ranks, so --ranks must be even, got 3'",
    "--device=gpu, '--device must be cpu, cuda, cuda:N or auto, got gpu'",
    "--device=cuda --comm=bytegrad, '--device cuda needs --algorithm allreduce, and --comm allred'",
    "--lr=0, '--lr must be in (0, 100], got 0.0'",
    "--lr=NaN, '--lr must be in (0, 100], got NaN'",
    "--momentum=1, '--momentum must be in [0, 1), got 1.0'",
    "--seed=-1, '--seed must be in [0, 4294967295], got -1'",
    "--workers=0, '--workers must be in [1, 256], got 0'",
    "--threads=-1, '--threads must be in [0, 1024], got -1'",
    "--resume, --resume needs a path",
    "--epochs=many, many",
    "--batchsize=3, Unknown option"
  })
  void anInvalidOptionIsAUsageError(String argument, String message) {
    assertThat(commandLine().execute(argument.split(" "))).isEqualTo(2);
    assertThat(output.toString()).contains(message).contains("train --help");
    assertThat(output.toString()).doesNotContain("Exception", "io.torchfeed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--ranks",
        "--elastic",
        "--oversubscribe",
        "--epochs",
        "--batch-size",
        "--accumulate",
        "--algorithm",
        "--comm",
        "--device",
        "--lr",
        "--momentum",
        "--seed",
        "--data",
        "--augment",
        "--workers",
        "--threads",
        "--out",
        "--resume",
        "--progress"
      })
  void theHelpDescribesEachOptionWithItsDefault(String option) {
    assertThat(commandLine().execute("--help")).isZero();
    assertThat(output.toString()).contains(option);
    assertThat(output.toString()).contains("(default: 64)", "(default: 0.03)");
    assertThat(output.toString()).doesNotContain("--bare-steps");
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
  void aRankReceivesTheArgumentsOfTheLauncher() {
    String[] given = {
      "--ranks=3",
      "--accumulate=4",
      "--lr=0.5",
      "--seed=9",
      "--threads=2",
      "--augment",
      "--resume=/o"
    };
    Settings launcher = parse(given);
    List<String> arguments = launcher.ofRank(List.of(given), Path.of("/data"));
    assertThat(arguments).startsWith(given);
    Settings rank = parse(arguments.toArray(new String[0]));
    assertThat(Launch.data(rank)).isEqualTo(Path.of("/data"));
    assertThat(rank.resume()).isEqualTo(Path.of("/o"));
    assertThat(rank.out()).isEqualTo(launcher.out()).isEqualTo(Path.of("/o"));
    assertThat(rank.augment).isTrue();
    assertThat(rank.accumulate).isEqualTo(4);
    assertThat(rank.ofRank(arguments, Path.of("/other"))).isEqualTo(arguments);
  }

  @Test
  void aRankOfANewRunGetsTheFolderOfTheLauncher() {
    Settings launcher = parse("--ranks=3");
    Settings rank =
        parse(launcher.ofRank(List.of("--ranks=3"), Path.of("/data")).toArray(new String[0]));
    assertThat(rank.out()).isEqualTo(launcher.out().toAbsolutePath());
  }

  @Test
  void onlyAveragedGradientsAreAccumulated() {
    assertThat(commandLine().execute("--accumulate=2", "--algorithm=shift-one")).isEqualTo(2);
    assertThat(output.toString())
        .contains("--accumulate needs --algorithm allreduce, got shift-one");
    assertThat(commandLine().execute("--comm=float16", "--algorithm=shift-one")).isEqualTo(2);
    assertThat(output.toString()).contains("--comm needs --algorithm allreduce, got shift-one");
    assertThat(parse("--comm=bytegrad").comm).isEqualTo(Comm.BYTEGRAD);
    assertThat(parse("--algorithm=low-precision").algorithm).isEqualTo(Algorithm.LOW_PRECISION);
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
    assertThat(parse("--ranks=" + many, "--oversubscribe").oversubscribe).isTrue();
  }

  @Test
  void filesThatCannotBeUsedAreUsageErrors(@TempDir Path folder) throws Exception {
    assertThat(commandLine().execute("--data=" + folder, "--out=" + folder)).isEqualTo(2);
    assertThat(output.toString()).contains("--data " + folder + " has no file train-images");
    Path file = Files.writeString(folder.resolve("file"), "");
    for (Path out : List.of(file, file.resolve("run"))) {
      assertThatThrownBy(() -> OutputFolder.create(out))
          .isInstanceOfSatisfying(
              CommandException.class, wrong -> assertThat(wrong.isWrongUse()).isTrue())
          .hasMessageStartingWith(
              "--out must be a folder that can be created and written, got " + out + " (");
    }
  }

  @Test
  void aNewRunGetsItsOwnFolderInRuns() {
    assertThat(parse().out().toString()).matches("runs/mnist-\\d{8}-\\d{6}");
  }

  @Test
  void resumeWithoutAPathUsesTheFolderOfTheRun() {
    assertThat(parse("--out=runs/a", "--resume").resume()).isEqualTo(Path.of("runs/a"));
    assertThat(parse("--resume", "runs/a/checkpoints/step-000002").out().endsWith("runs/a"))
        .isTrue();
  }
}
