// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticRunTest {
  private static final int EPOCHS = 20; // of 6 steps; one checkpoint, at step 100

  @TempDir Path folder = Path.of("");

  @Test
  void trainingContinuesWhenARankIsKilled() throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    Path out = folder.resolve("out");
    boolean[] isKilled = new boolean[1];
    List<String> lines =
        train(
            0,
            (launcher, line) -> {
              if (!isKilled[0] && line.contains("epoch 1 of 3 ranks")) {
                ProcessHandle rank = launcher.children().skip(1).findFirst().orElseThrow();
                isKilled[0] = rank.destroyForcibly();
              }
            },
            "--ranks=3",
            "--elastic=2",
            "--epochs=" + EPOCHS,
            "--verified-data=" + data,
            "--out=" + out);
    assertThat(lines)
        .anyMatch(line -> line.startsWith("coordinator: ") && line.contains(" was lost: "))
        .anyMatch(line -> line.matches(".*epoch " + EPOCHS + " of [23] ranks: test accuracy .* %"));
    assertThat(Files.readString(out.resolve("elastic-checkpoints/LATEST"))).startsWith("step-");
    assertThat(Files.readAllLines(out.resolve("scalars.csv")))
        .filteredOn(line -> line.contains("\"train/ranks\""))
        .hasSizeGreaterThan(1)
        .first()
        .asString()
        .startsWith("1,\"train/ranks\",3.0,");
    Path traces = out.resolve("trace");
    assertThat(torchfeed("trace", traces.toString()))
        .anyMatch(line -> line.equals("all ranks have one clock"))
        .anyMatch(line -> line.startsWith("waits for other ranks: "))
        .anyMatch(line -> line.matches(" +step +slowest rank .*"));
    assertThat(torchfeed("report", out.toString())).containsExactly(out + "/report.html");
    assertThat(out.resolve("report.html"))
        .content()
        .contains("Ranks came or went after", "<h2>Traces in trace</h2>", "others waited for it");
  }

  private List<String> torchfeed(String... arguments) throws Exception {
    List<String> command = TestJvm.command(List.of(), "io.torchfeed.Torchfeed");
    command.addAll(List.of(arguments));
    try (TestJvm program = TestJvm.launch(folder, Map.of(), command)) {
      assertThat(program.exitCode()).as("%s", program.output()).isZero();
      return program.output();
    }
  }

  /** Trains; returns the lines of the launcher, which must end with a status. */
  private List<String> train(int status, BiConsumer<Process, String> atLine, String... options)
      throws Exception {
    List<String> command =
        TestJvm.command(
            List.of("-Xmx128m", "-Dtorchfeed.example.archive=" + TestJvm.ARCHIVE),
            Main.class.getName(),
            "--batch-size=4",
            "--threads=1");
    command.addAll(List.of(options));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("TORCHFEED_TRACE", folder.resolve("out/trace").toString());
    Process launcher = builder.start();
    List<String> lines = new ArrayList<>();
    try (BufferedReader output = launcher.inputReader(StandardCharsets.UTF_8)) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        lines.add(line);
        atLine.accept(launcher, line);
      }
      assertThat(launcher.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(launcher.exitValue()).as("%s", lines).isEqualTo(status);
      return lines;
    } finally {
      launcher.descendants().forEach(ProcessHandle::destroyForcibly);
      launcher.destroyForcibly();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--accumulate=2 --comm=bytegrad", "--comm=qadam", "--algorithm=shift-one"})
  void eachWayTrains(String way) throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    List<String> options = new ArrayList<>(List.of(way.split(" ")));
    options.addAll(List.of("--ranks=2", "--elastic=2", "--epochs=2"));
    options.addAll(List.of("--verified-data=" + data, "--out=" + folder.resolve("out")));
    assertThat(train(0, (launcher, line) -> {}, options.toArray(new String[0])))
        .anyMatch(line -> line.contains("epoch 2 of 2 ranks: test accuracy"));
  }

  @Test
  void aGenerationIsRunAgainWithTheSameEndAndWithoutCheckpoints() throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    Path out = folder.resolve("out");
    String[] options = {
      "--ranks=2", "--elastic=2", "--epochs=2", "--verified-data=" + data, "--out=" + out
    };
    List<String> first = train(0, (launcher, line) -> {}, options);
    Path latest = out.resolve("elastic-checkpoints/LATEST");
    Files.delete(latest);
    String curves = Files.readString(out.resolve("scalars.csv"));
    String[] again = Arrays.copyOf(options, options.length + 1);
    again[options.length] = "--from-generation=1.1";
    List<String> second = train(0, (launcher, line) -> {}, again);
    assertThat(epochs(second)).hasSize(2).isEqualTo(epochs(first));
    assertThat(latest).doesNotExist();
    assertThat(out.resolve("scalars.csv")).hasContent(curves);
  }

  private static List<String> epochs(List<String> lines) {
    return lines.stream()
        .filter(line -> line.contains("test accuracy"))
        .map(line -> line.substring(line.indexOf("epoch")))
        .toList();
  }

  @Test
  void aTerminatedRunSavesACheckpoint() throws Exception {
    Path data = RandomMnist.write(folder.resolve("data"));
    Path out = folder.resolve("out");
    train(
        143,
        (launcher, line) -> {
          if (line.contains("epoch 2 of 2 ranks")) {
            launcher.toHandle().destroy(); // Process.destroy would close its output
          }
        },
        "--ranks=2",
        "--elastic=1",
        "--epochs=100000",
        "--verified-data=" + data,
        "--out=" + out);
    String name = Files.readString(out.resolve("elastic-checkpoints/LATEST")).strip();
    assertThat(Integer.parseInt(name.substring("step-".length())) % 100)
        .as("beside the ones at every 100 steps: %s", name)
        .isNotZero();
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
