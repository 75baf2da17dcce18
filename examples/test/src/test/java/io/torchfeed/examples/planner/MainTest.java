// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MainTest {
  private static final int SAMPLES = 3000;

  @TempDir private Path folder = Path.of("");
  private final StringWriter output = new StringWriter();
  private Path costs = Path.of("");
  private Path png = Path.of("");

  @BeforeEach
  void writeCosts() throws IOException {
    costs = folder.resolve("costs.csv");
    png = folder.resolve("plan.png");
    Files.writeString(
        costs,
        IntStream.range(0, SAMPLES)
            .mapToObj(index -> index + "," + (1 + index * 7919L % 997))
            .collect(Collectors.joining("\n", "id,tokens\n", "\n")));
  }

  @Test
  void everyStrategyHasALineInTheTable() {
    assertThat(plan("--column=tokens", "--world-size=4", "--batch-size=8")).isZero();
    assertThat(output.toString()).contains("3,000 samples, 4 ranks");
    for (Strategy strategy : Strategy.all()) {
      assertThat(output.toString().lines())
          .filteredOn(line -> line.startsWith(strategy.name() + " "))
          .hasSize(2);
    }
  }

  @Test
  void theChartIsAnImage() throws IOException {
    assertThat(plan("--column=2")).isZero();
    BufferedImage image = ImageIO.read(png.toFile());
    assertThat(image.getWidth()).isGreaterThan(image.getHeight());
  }

  @Test
  void theSameSeedReproducesTheTableAndTheHeadingReportsTheSample() {
    assertThat(plan("--column=2", "--seed=5", "--sample=1000")).isZero();
    String first = output.toString();
    output.getBuffer().setLength(0);
    assertThat(plan("--column=2", "--seed=5", "--sample=1000")).isZero();
    assertThat(output.toString()).isEqualTo(first).contains("1,000 samples drawn from 3,000");
  }

  @ParameterizedTest
  @CsvSource({
    "--column=words, has no column words",
    "--world-size=0, '--world-size must be in [1, 65536], got 0'",
    "--batch-size=0, '--batch-size must be in [1, 1048576], got 0'",
    "--batch-size=1000000, '--world-size times --batch-size must be in [1, 2097152], got 8000000'",
    "--budget=10, '--budget must hold the largest cost 997, got 10'",
    "--budget=0, '--budget must be in [1, 4398046511103], got 0'",
    "--sample=-1, '--sample must be at least 0, got -1'",
    "--out=missing/folder/plan.png, '--out must be a file in an existing folder'",
    "--world-size=many, many",
    "--worldsize=3, Unknown option"
  })
  void anInvalidOptionIsReportedWithExitCodeTwo(String argument, String message) {
    String column = argument.startsWith("--column") ? "--seed=1" : "--column=2";
    String out = argument.startsWith("--out") ? "--seed=2" : "--out=" + png;
    assertThat(run(costs.toString(), column, out, argument)).isEqualTo(2);
    assertThat(output.toString()).startsWith("error: ").contains(message);
    assertThat(output.toString()).doesNotContain("\tat ");
  }

  @Test
  void anUnwritableFileExitsWithCodeTwo() {
    assertThat(run(costs.toString(), "--column=2", "--out=/proc/plan.png")).isEqualTo(2);
    assertThat(output.toString()).contains("error: --out cannot be written, got /proc/plan.png");
    assertThat(output.toString()).doesNotContain("\tat ");
  }

  @Test
  void aMissingFileOrNoFileExitsWithCodeTwo() {
    assertThat(run(folder.resolve("none.csv").toString(), "--out=" + png)).isEqualTo(2);
    assertThat(output.toString()).contains("there is no readable file", "none.csv");
    assertThat(run()).isEqualTo(2);
    assertThat(output.toString()).contains("plan --help");
  }

  @Test
  void helpListsEveryOption() {
    assertThat(run("--help")).isZero();
    assertThat(output.toString())
        .contains("FILE", "--column", "--world-size", "--batch-size", "--budget", "--seed")
        .contains("--sample", "--out", "Exit status");
  }

  private int plan(String... options) {
    String[] arguments = new String[options.length + 2];
    arguments[0] = costs.toString();
    arguments[1] = "--out=" + png;
    System.arraycopy(options, 0, arguments, 2, options.length);
    return run(arguments);
  }

  private int run(String... arguments) {
    return Main.commandLine()
        .setOut(new PrintWriter(output, true))
        .setErr(new PrintWriter(output, true))
        .execute(arguments);
  }
}
