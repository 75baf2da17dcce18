// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SelfCheckTest {
  @Test
  void findsAWorkingLibrary() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    boolean healthy = SelfCheck.run(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    assertThat(bytes.toString(StandardCharsets.UTF_8))
        .contains("libtorch   %1$s, facade compiled for %1$s".formatted(libtorchOfThePresets()))
        .containsPattern("vectors    (scalar|avx2|avx512|neon)\n")
        .contains("loaded     jnitorchfeed from ")
        .contains("sampler    [0, 2, 1, 5, 9, 8, 4, 7, 6, 3]")
        .contains("gather     5 rows in 3 batches, all correct")
        .contains("result     ok");
    assertThat(healthy).isTrue();
  }

  private static String libtorchOfThePresets() {
    return System.getProperty("java.class.path")
        .replaceFirst("(?s).*/pytorch-([0-9.]+)-[^/]*\\.jar.*", "$1");
  }

  private record Result(int status, String output) {}

  private static Result runWith(String classPath, String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                classPath,
                "io.torchfeed.Torchfeed"));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Result(process.waitFor(), output);
  }

  private static String classPathWithoutLibtorch() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(entry -> !(entry.contains("pytorch") && entry.contains("x86_64")))
        .collect(Collectors.joining(File.pathSeparator));
  }

  @Test
  void exitsWithCode1AndAHintWhenThePresetsAreMissing() throws Exception {
    String own =
        Path.of(Torchfeed.class.getResource("/io/torchfeed/Torchfeed.class").toURI())
            .resolve("../../..")
            .normalize()
            .toString();
    Result result = runWith(own);
    assertThat(result.output())
        .contains(
            "presets    FAILED: java.lang.ClassNotFoundException: org.bytedeco.javacpp.Loader")
        .contains("hint: put the jars of the presets")
        .contains("result     NOT OK")
        .doesNotContain("Exception in thread");
    assertThat(result.status()).isEqualTo(1);
  }

  @Test
  void exitsWithCode1AndAHintWhenTheLibrariesAreMissing() throws Exception {
    Result result = runWith(classPathWithoutLibtorch());
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.output())
        .contains("libtorch   FAILED: ")
        .contains("(missing: pytorch); add the dependency io.torchfeed:torchfeed-platform")
        .contains("hint: \"The native libraries cannot be loaded\" in the README of java-api")
        .contains("result     NOT OK");
  }

  @Test
  void namesBothVersionsIfThePresetsAreOfAnotherLine(@TempDir Path folder) throws Exception {
    Path build = folder.resolve("io/torchfeed/bindings/build.properties");
    Files.createDirectories(build.getParent());
    Files.writeString(build, "libtorch=2.99.0");
    Result result = runWith(folder + File.pathSeparator + System.getProperty("java.class.path"));
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.output())
        .contains("torchfeed-native is for libtorch 2.99.0, but the presets are for")
        .contains(libtorchOfThePresets() + "; torchfeed-bom has both")
        .contains("result     NOT OK");
  }

  @Test
  void namesTheLibrariesOfCudaIfLibtorchIsForGpus(@TempDir Path folder) throws Exception {
    Path libraries =
        folder.resolve("org/bytedeco/pytorch/" + Loader.getPlatform() + "-gpu/libtorch_cuda.so");
    Files.createDirectories(libraries.getParent());
    Files.createFile(libraries);
    Result result = runWith(classPathWithoutLibtorch() + File.pathSeparator + folder);
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.output())
        .contains("libtorch   FAILED: ")
        .contains("hint: the libtorch on the class path is for GPUs")
        .contains("org.bytedeco:cuda-redist")
        .contains("cuSOLVER");
  }

  @Test
  void anArgumentCausesAOneLineErrorAndExitCode2() throws Exception {
    Result result = runWith(System.getProperty("java.class.path"), "--verbose");
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.output().lines())
        .containsExactly(
            "error: the commands are generations FOLDER, images pack FOLDER FILE, images verify FILE,"
                + " report FOLDER [FILE], trace FOLDER [--perfetto FILE] [--flight-recorder FOLDER] and"
                + " launch --help, and the self-check has no arguments; got --verbose");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h"})
  void helpIsNoError(String option) throws Exception {
    Result result = runWith(System.getProperty("java.class.path"), option);
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output().lines())
        .containsExactly(
            "without arguments: checks that the library works on this machine",
            "generations FOLDER: lists the generations of an elastic job",
            "images pack FOLDER FILE | images verify FILE: writes or checks image records",
            "report FOLDER [FILE]: writes a page about a run",
            "trace FOLDER [--perfetto FILE] [--flight-recorder FOLDER]: merges the traces of all"
                + " ranks",
            "launch --help: lists the options for starting ranks");
  }

  @Test
  void versionsMatchTheBuild() {
    assertThat(Torchfeed.version()).matches("\\d+\\.\\d+\\.\\d+.*");
    assertThat(Torchfeed.libtorchVersion()).isEqualTo(libtorchOfThePresets());
  }
}
