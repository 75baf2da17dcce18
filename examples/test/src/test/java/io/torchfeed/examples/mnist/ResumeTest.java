// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ResumeTest {
  private static final int STEPS = 4; // of an epoch

  @TempDir Path folder = Path.of("");

  /** The first has a state with tensors for each rank, the others have none. */
  @ParameterizedTest
  @ValueSource(strings = {"--algorithm=low-precision", "--algorithm=allreduce", "--comm=qadam"})
  void aRunThatWasStoppedEndsAsOneThatWasNot(String way) throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    Path straight = folder.resolve("straight");
    Path stopped = folder.resolve("stopped");
    train(data, straight, way, "--epochs=2");
    train(data, stopped, way, "--epochs=2", "--resume=" + checkpoint(straight, 1));
    assertThat(manifest(stopped, 2)).isEqualTo(manifest(straight, 2)).contains("\"crc32c\"");
    assertThat(manifest(stopped, 1)).as("a copy").isEqualTo(manifest(straight, 1));
    assertThat(stopped.resolve("metrics.csv")).content().doesNotContain("\n1,").contains("\n2,");
    if (way.equals("--algorithm=allreduce")) {
      train(data, stopped, way, "--epochs=2");
      assertThat(stopped.resolve("metrics.csv")).content().contains("\n1,").contains("\n2,");
      assertThat(manifest(stopped, 2)).as("from the start").isEqualTo(manifest(straight, 2));
    }
  }

  @Test
  void checkpointsOfAnotherProgramAreRefused() throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    Path run = folder.resolve("run");
    try (Checkpoints checkpoints = Checkpoints.open(run.resolve("checkpoints"))) {
      checkpoints.save(1, TrainingState.builder().number("other", () -> 1, saved -> {}).build());
    }
    assertThat(run(data, run, "--resume")).containsExactly(2, 2);
  }

  private static Path checkpoint(Path run, int epoch) {
    return run.resolve("checkpoints").resolve("step-00000" + STEPS * epoch);
  }

  /** Returns the description of a checkpoint, which has the digests of all tensors. */
  private static String manifest(Path run, int epoch) throws IOException {
    return Files.readString(checkpoint(run, epoch).resolve("manifest.json"));
  }

  private static void train(Path data, Path out, String... options) throws Exception {
    assertThat(run(data, out, options)).containsExactly(0, 0);
  }

  /** Trains with two ranks, in processes of their own; returns their exit statuses. */
  private static List<Integer> run(Path data, Path out, String... options) throws Exception {
    int port;
    try (ServerSocket socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }
    List<Process> ranks = new ArrayList<>();
    try {
      for (int rank = 0; rank < 2; rank++) {
        List<String> command =
            TestJvm.command(
                List.of(),
                Main.class.getName(),
                "--ranks=2",
                "--batch-size=8",
                "--threads=1",
                "--progress=lines",
                "--verified-data=" + data,
                "--out=" + out);
        command.addAll(List.of(options));
        ProcessBuilder builder =
            new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put("RANK", Integer.toString(rank));
        builder.environment().put("WORLD_SIZE", "2");
        builder.environment().put("MASTER_ADDR", "127.0.0.1");
        builder.environment().put("MASTER_PORT", Integer.toString(port));
        ranks.add(builder.start());
      }
      for (Process rank : ranks) {
        assertThat(rank.waitFor(120, TimeUnit.SECONDS)).isTrue();
      }
      return ranks.stream().map(Process::exitValue).toList();
    } finally {
      ranks.forEach(Process::destroyForcibly);
    }
  }
}
