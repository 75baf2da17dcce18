// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive of classes that java-api/README.md describes, made and used by the self-check. */
class ArchivedClassesTest {
  private static final Path CLASS_PATH = Path.of("../benchmarks/target/classpath");

  private void check(Path folder, String... options) throws Exception {
    String jars =
        Arrays.stream(Files.readString(CLASS_PATH).strip().split(File.pathSeparator))
            .filter(entry -> entry.endsWith(".jar"))
            .collect(Collectors.joining(File.pathSeparator));
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Stream<String> program =
        Stream.of(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Dorg.bytedeco.javacpp.platform.extension=",
            "-cp",
            jars,
            "io.torchfeed.Torchfeed");
    List<String> command =
        Stream.of(Stream.of(java), Arrays.stream(options), program).flatMap(part -> part).toList();
    try (TestJvm started = TestJvm.launch(folder, Map.of(), command)) {
      int status = started.exitCode();
      assertThat(status).as(String.join("\n", started.output())).isZero();
    }
  }

  @Test
  void classesOfTorchfeedAndThePresetsComeFromTheArchive(@TempDir Path folder) throws Exception {
    Path archive = folder.resolve("program.jsa");
    Path log = folder.resolve("classes");
    check(folder, "-XX:ArchiveClassesAtExit=" + archive, "-Xlog:disable");
    check(folder, "-XX:SharedArchiveFile=" + archive, "-Xlog:class+load:file=" + log + ":none");
    List<String> loaded = Files.readAllLines(log);
    for (String name : List.of("io.torchfeed.SelfCheck", "org.bytedeco.pytorch.Tensor")) {
      assertThat(loaded).contains(name + " source: shared objects file (top)");
    }
  }
}
