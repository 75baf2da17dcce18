// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The classes that a program loads until its first batch, and the option that spares the search for
 * CUDA.
 */
class StartTest {
  private static final String PROGRAM = "io.torchfeed.FirstBatchProgram";

  /** Other works of torchfeed, and the parts of the JDK that only messages need. */
  private static final Predicate<String> UNUSED =
      Pattern.compile(
              "io\\.torchfeed\\.(checkpoint|distributed|elastic|image|storage|table|text|training)\\..*"
                  + "|io\\.torchfeed\\.[A-Z]\\w+Command"
                  + "|java\\.util\\.logging\\.LogManager"
                  + "|java\\.util\\.Formatter"
                  + "|java\\.lang\\.runtime\\.ObjectMethods")
          .asMatchPredicate();

  private final Path folder;

  StartTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private List<String> run(List<String> command) throws IOException, InterruptedException {
    try (TestJvm java = TestJvm.launch(folder, Map.of(), command)) {
      int status = java.exitCode();
      List<String> lines = java.output();
      assertThat(status).as(String.join("\n", lines)).isZero();
      assertThat(lines).contains("rows 4");
      return lines;
    }
  }

  @Test
  void untilTheFirstBatchNothingIsLoadedThatItDoesNotUse() throws Exception {
    Path log = folder.resolve("classes");
    run(TestJvm.command(List.of("-Xlog:class+load:file=" + log + ":none"), PROGRAM));
    List<String> loaded;
    try (Stream<String> lines = Files.lines(log)) {
      loaded = lines.map(line -> line.replaceFirst(" .*", "")).toList();
    }
    assertThat(loaded).contains("io.torchfeed.data.loader.Batch", "org.bytedeco.pytorch.Tensor");
    assertThat(loaded.stream().filter(UNUSED)).isEmpty();
  }

  /** The option takes all out of JavaCPP's search that needs a GPU. */
  @Test
  void withoutGpusJavaCppLooksForNoLibraryOfCuda() throws Exception {
    String none = "-Dorg.bytedeco.javacpp.platform.extension=";
    assertThat(searched()).anyMatch(line -> line.contains("cudart"));
    assertThat(searched(none)).noneMatch(line -> line.contains("cudart") || line.contains("nccl"));
  }

  private List<String> searched(String... options) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(List.of(options));
    command.add("-Dorg.bytedeco.javacpp.logger.debug=true");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), PROGRAM));
    return run(command).stream().filter(line -> line.startsWith("Debug: ")).toList();
  }
}
