// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs each program as its readers do, in a process of its own. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProgramsTest {
  private static final int MAX_LINES = 60;
  private static final String PYTHON_VARIABLE = "TORCHFEED_PEER_PYTHON";

  private final Path folder;

  ProgramsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void programsFitOnAScreen() throws IOException {
    Map<String, Integer> lengths = new TreeMap<>();
    try (Stream<Path> files = Files.walk(Path.of("../first/src/main/java"))) {
      for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
        List<String> lines = Files.readAllLines(file);
        if (lines.stream().anyMatch(line -> line.contains("void main("))) {
          lengths.put(file.getFileName().toString(), lines.size());
        }
      }
    }
    assertThat(lengths).hasSize(9);
    assertThat(lengths)
        .allSatisfy((name, lines) -> assertThat(lines).as(name).isLessThanOrEqualTo(MAX_LINES));
  }

  @Test
  void aNetIsTrainedOnImages() throws Exception {
    assertThatLossFalls(run(TrainOnImages.class));
  }

  @Test
  void aStoppedTrainingEndsLikeAnother() throws Exception {
    Path unbroken = Files.createDirectory(folder.resolve("unbroken"));
    Path stopped = Files.createDirectory(folder.resolve("stopped"));
    List<String> expected = run(StopAndResume.class, unbroken.toString());
    List<String> seen = new ArrayList<>(run(StopAndResume.class, stopped.toString(), "3"));
    assertThat(seen).hasSize(3);
    seen.addAll(run(StopAndResume.class, stopped.toString()));
    assertThat(seen).hasSize(10).doesNotHaveDuplicates().isEqualTo(expected);
    String weights = "step-000010/model.safetensors";
    assertThat(stopped.resolve(weights)).hasSameBinaryContentAs(unbroken.resolve(weights));
  }

  @Test
  void aTableIsTrainedOnUntilItIsNoLongerBetter() throws Exception {
    String checkpoints = Files.createDirectory(folder.resolve("table")).toString();
    List<String> lines = run(TrainOnTable.class, checkpoints);
    assertThat(lines).filteredOn(line -> line.startsWith("EVALUATED")).hasSizeBetween(6, 50);
    assertThat(run(TrainOnTable.class, checkpoints))
        .anyMatch(line -> line.startsWith("NOTHING_LEFT"));
    Path other = Files.writeString(folder.resolve("other.csv"), "age,income,class\n1,2,a\n");
    assertThatThrownBy(() -> run(TrainOnTable.class, checkpoints, other.toString()))
        .hasMessageContaining("must have exactly one column \"colour\"");
  }

  @Test
  void aLanguageModelLearnsSentences() throws Exception {
    List<Double> perplexities =
        run(TrainOnTokens.class).stream()
            .filter(line -> line.startsWith("EVALUATED"))
            .map(line -> Double.valueOf(line.replaceAll(".*loss ([0-9.]+).*", "$1")))
            .toList();
    assertThat(perplexities).hasSize(3);
    assertThat(perplexities.get(2)).isLessThan(2).isLessThan(perplexities.get(0));
  }

  @Test
  void ranksTrainOneNet() throws Exception {
    List<String> lines = run(DdpWithAccumulation.class);
    List<String> ofOther = lines.stream().filter(line -> line.startsWith("[rank 1] ")).toList();
    List<String> ofFirst = lines.stream().filter(line -> !line.startsWith("[rank")).toList();
    assertThatLossFalls(ofFirst);
    String weights = ofFirst.get(ofFirst.size() - 1);
    assertThat(weights).matches("weights [0-9a-f]{64}");
    assertThat(ofOther.get(ofOther.size() - 1)).isEqualTo("[rank 1] " + weights);
  }

  @Test
  void ranksContinueWithoutOneThatDies() throws Exception {
    List<String> lines = run(LoseARank.class);
    assertThat(lines).anyMatch(line -> line.endsWith("] rank 2 dies in step 12"));
    assertThat(lines)
        .anyMatch(line -> line.matches("coordinator: generation 2 of 2 ranks: .*@12, .*@12]"));
    assertThat(lines.stream().filter(line -> line.endsWith("2 ranks have completed step 50")))
        .hasSize(2);
  }

  @Test
  void classesAreDrawnEquallyOften() throws Exception {
    List<String> lines = run(WeightedDraws.class);
    assertThat(lines).hasSize(2).doesNotHaveDuplicates();
    for (String line : lines) {
      assertThat(line).startsWith("rank " + lines.indexOf(line));
      long[] drawn = numbers(line);
      assertThat(Arrays.stream(drawn).sum()).isEqualTo(15_000);
      assertThat(drawn).hasSize(3);
      // 15,000 draws with probability 1/3: four times the standard deviation of 58
      assertThat(Arrays.stream(drawn)).allSatisfy(n -> assertThat(n).isBetween(4_769L, 5_231L));
    }
  }

  @Test
  void linesBecomeTokens() throws Exception {
    Path text = Files.writeString(folder.resolve("text"), "b a\nc b a a\na\n");
    assertThat(run(TextToTokens.class, text.toString()))
        .containsExactly(
            "vocabulary [<pad>, b, a, c]",
            "batch of shape [2, 4]",
            "tokens [1, 2, 0, 0] length 2",
            "tokens [3, 1, 2, 2] length 4",
            "batch of shape [1, 1]",
            "tokens [2] length 1");
    assertThat(run(TextToTokens.class)).contains("batch of shape [2, 8]");
  }

  @Test
  void javaAndPythonAddUp() throws Exception {
    String python = python();
    assumeTrue(
        version(python).startsWith("2.10."),
        () -> python + " has no torch 2.10; set " + PYTHON_VARIABLE + " to an interpreter with it");
    assertThat(run(JavaAndPython.class, python))
        .contains("Java: [11.0, 22.0]", "Python: [11.0, 22.0]");
  }

  private static void assertThatLossFalls(List<String> lines) {
    List<Double> losses =
        lines.stream()
            .filter(line -> line.startsWith("epoch "))
            .map(line -> Double.valueOf(line.substring(line.lastIndexOf(' '))))
            .toList();
    assertThat(losses).hasSizeGreaterThanOrEqualTo(5);
    assertThat(losses.get(losses.size() - 1)).isLessThan(losses.get(0) / 2);
  }

  private static long[] numbers(String line) {
    String list = line.substring(line.indexOf('[') + 1, line.indexOf(']'));
    return Arrays.stream(list.split(", ")).mapToLong(Long::parseLong).toArray();
  }

  private List<String> run(Class<?> program, String... arguments) throws Exception {
    List<String> command =
        TestJvm.command(
            List.of("-Xmx256m", "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"), program.getName());
    command.addAll(List.of(arguments));
    Path output = Files.createTempFile(folder, program.getSimpleName(), ".log");
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeAll(List.of("RANK", "WORLD_SIZE"));
    builder.environment().put("LC_ALL", "C"); // a point in decimal numbers
    builder.redirectErrorStream(true).redirectOutput(output.toFile());
    Process process = builder.start();
    try {
      assertThat(process.waitFor(240, TimeUnit.SECONDS)).as("the program ends").isTrue();
      assertThat(process.exitValue()).as("%s", Files.readString(output)).isZero();
      return TestJvm.lines(output);
    } finally {
      process.destroyForcibly();
    }
  }

  private static String python() {
    String named = System.getenv(PYTHON_VARIABLE);
    if (named != null) {
      return named;
    }
    String cache = System.getenv("XDG_CACHE_HOME");
    Path folder =
        cache != null && Path.of(cache).isAbsolute()
            ? Path.of(cache)
            : Path.of(System.getProperty("user.home"), ".cache");
    return folder.resolve("torchfeed/peer-venv/bin/python").toString();
  }

  private static String version(String python) throws Exception {
    try {
      Process process =
          new ProcessBuilder(python, "-c", "import torch; print(torch.__version__)")
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String version = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return process.waitFor() == 0 ? version : "";
    } catch (IOException e) {
      return ""; // there is no interpreter
    }
  }
}
