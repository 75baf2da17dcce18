// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.launch.ComingRank;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LaunchCommandTest {
  private static final String MAIN = ComingRank.class.getName();

  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private final ByteArrayOutputStream errors = new ByteArrayOutputStream();

  private int run(String... args) {
    errors.reset();
    output.reset();
    return LaunchCommand.run(
        List.of(args),
        new PrintStream(output, true, StandardCharsets.UTF_8),
        new PrintStream(errors, true, StandardCharsets.UTF_8));
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private String errors() {
    return errors.toString(StandardCharsets.UTF_8);
  }

  @Test
  void ranksThatComeAndGoCompleteAJob(@TempDir Path folder) throws IOException {
    Files.createFile(folder.resolve("complete"));
    Path logs = folder.resolve("logs");
    int status =
        run(
            "--ranks",
            "1:2",
            "--spares",
            "1",
            "--restarts",
            "1/60",
            "--logs",
            logs.toString(),
            "--show",
            "none",
            "--job",
            "job",
            "--listen",
            "127.0.0.1:" + freePort(),
            "--secret-file",
            Files.writeString(folder.resolve("secret"), "a secret of this test").toString(),
            "--grace",
            "1.5",
            "--jvm",
            "-Xmx64m",
            "--oversubscribe",
            MAIN,
            folder.toString());
    assertThat(status).as(errors()).isZero();
    assertThat(errors()).contains("training has been completed by");
    assertThat(logs.resolve("launcher.log")).doesNotExist(); // several machines have one each
    try (var files = Files.list(logs)) {
      assertThat(files.map(Path::toString).filter(name -> name.endsWith("launcher.log")))
          .hasSize(1);
    }
  }

  @Test
  void theStatusIsThatOfTheProcessThatFailedFirst(@TempDir Path folder) {
    assertThat(
            run(
                "--ranks",
                "1:1",
                "--restarts",
                "0/60",
                "--oversubscribe",
                MAIN,
                folder.toString(),
                "p.*=fail"))
        .isEqualTo(5);
    assertThat(errors()).contains("error: the job has failed: ", "the reason of p0.1");
    assertThat(
            run(
                "--ranks",
                "1",
                "--env",
                "TORCHFEED_PROCESS_NAME=none",
                "--oversubscribe",
                MAIN,
                folder.toString(),
                "none=nothing"))
        .as(errors())
        .isZero();
    assertThat(run("--ranks", "1", "--oversubscribe", "no.such.Class")).isEqualTo(1);
  }

  @Test
  void aGenerationIsRunAgainWithAsManyRanks(@TempDir Path folder) throws IOException {
    Path own = Files.createDirectories(folder.resolve("generation-1.2"));
    Files.writeString(
        own.resolve("generation.json"),
        """
        {"version":1,"run":1,"number":2,"ranks":2,"origin":"RANK_ZERO","step":7,"epoch":1,"samples":84,
         "began":"2026-01-02T03:04:05Z"}""");
    String[] command = {
      "--generations",
      folder.toString(),
      "--from-generation",
      "2",
      "--restarts",
      "0/60",
      "--oversubscribe",
      MAIN,
      folder.toString(),
      "p.*=variables"
    };
    assertThat(run(command)).isEqualTo(2);
    assertThat(errors()).contains("the state of generation 1.2 in " + folder + " is not there");
    Files.createDirectory(own.resolve("step-000007"));
    assertThat(run(command)).isEqualTo(5);
    assertThat(errors()).contains("TORCHFEED_FROM_GENERATION");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h"})
  void theOptionsAreHelp(String option) {
    assertThat(run(option)).isZero();
    assertThat(output.toString(StandardCharsets.UTF_8)).startsWith("launch OPTIONS MAIN ARGUMENTS");
    assertThat(errors()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--ranks | --ranks needs a value",
        "--ranks x Main | --ranks must have a whole number, got 'x'",
        "--ranks 2:1 Main | ranks must be 1 <= minRanks <= maxRanks, got 2 and 1",
        "--ranks 2 --ranks 3 Main | ranks was already set to 2",
        "--ranks 2 | the class to run is missing",
        "--ranks 1 --spares 1 Main | spares is an option of elasticRanks(min, max)",
        "--restarts 3 Main | --restarts must be N/SECONDS, got '3'",
        "--restarts 3/x Main | --restarts must have a number of seconds, got 'x'",
        "--listen 1234 Main | --listen must be HOST:PORT, got '1234'",
        "--env NAME Main | --env must be NAME=VALUE, got 'NAME'",
        "--show 0,-1 Main | a shown rank must be at least 0, got -1",
        "--ranks 2 --show 0,7 Main | a shown rank must be in [0, 1], got 7",
        "--show 1 Main | a shown rank must be in [0, 0], got 1",
        "--ranks 1:2 --show 2 Main | a shown rank must be in [0, 1], got 2",
        "--ranks 2 --env RANK=5 Main | --env must not set RANK, which the launcher sets, got '5'",
        "--ranks 1:2 --env MASTER_PORT=5 Main | --env must not set MASTER_PORT, which the launcher",
        "--grace -1 Main | --grace must have a number of seconds, got '-1'",
        "--other Main | unknown option --other",
        "--ranks 1:1 --ranks 1:2 Main | ranks was already set to CoordinatorOptions[ranks=1:1",
        "--secret-file none --ranks 1:1 Main | the secret in none cannot be read: no such file",
        "--ranks 1:1 --listen host:1 --job a Main | a job of several machines needs a secret",
        "--forward TERM Main | a forwarded signal must be one of [USR1, HUP], got 'TERM'",
        "--from-generation 1 Main | --from-generation and --generations belong together",
        "--from-generation 1 --generations none Main | there is no generation 1 in none, only []",
      })
  void otherOptionsAreRefusedWithTheWayToTheHelp(String args, String message) {
    assertThat(run(new ArrayList<>(List.of(args.split(" "))).toArray(new String[0]))).isEqualTo(2);
    assertThat(errors())
        .startsWith("error: " + message)
        .endsWith("\nlaunch --help lists the options\n")
        .hasLineCount(2);
  }
}
