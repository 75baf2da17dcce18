// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.testing.TestJvm;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Programs that are started in ways in which the native libraries cannot be loaded. */
class LoadingTest {
  private static final String CLASS_PATH = System.getProperty("java.class.path");
  private static final String OF_PLATFORM = ".*(x86_64|arm64|native/target/platform).*";
  private static final String SELF_CHECK = "io.torchfeed.Torchfeed";
  private static final int CALLS = 14;
  private static final Map<String, String> ONE_RANK = Map.of("RANK", "0", "WORLD_SIZE", "1");

  private final Path folder;

  LoadingTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static String classPath(boolean withLibraries) {
    return Arrays.stream(CLASS_PATH.split(File.pathSeparator))
        .filter(entry -> withLibraries || !entry.matches(OF_PLATFORM))
        .collect(Collectors.joining(File.pathSeparator));
  }

  private List<String> run(
      List<String> wrapper, Map<String, String> variables, String path, String... options)
      throws Exception {
    List<String> command = new ArrayList<>(wrapper);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-XX:+UseSerialGC", "-Xmx64m", "-XX:ReservedCodeCacheSize=32m"));
    command.addAll(List.of("-XX:CompressedClassSpaceSize=32m"));
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", path));
    List<String> lines = new ArrayList<>();
    for (String program : List.of("io.torchfeed.LoadingProgram", SELF_CHECK)) {
      lines.addAll(output(variables, Stream.concat(command.stream(), Stream.of(program))));
    }
    return lines;
  }

  private List<String> output(Map<String, String> variables, Stream<String> command)
      throws Exception {
    try (TestJvm java = TestJvm.launch(folder, variables, command.toList())) {
      int status = java.exitCode();
      return Stream.concat(java.output().stream(), Stream.of("status " + status)).toList();
    }
  }

  /** Each call of the program, and the self-check, names the reason, the first time and later. */
  private static void assertNamed(List<String> lines, String... parts) {
    String named = "\\w+(: | +FAILED: )io.torchfeed.bindings.LoadFailure: .*";
    List<String> failures = lines.stream().filter(line -> line.matches(named)).toList();
    assertThat(failures).as(String.join("\n", lines)).hasSize(CALLS + 1);
    assertThat(failures).allSatisfy(failure -> assertThat(failure).contains(parts));
    assertThat(lines)
        .containsSubsequence("status 0", "status 1")
        .noneMatch(line -> line.contains("Could not initialize class"));
  }

  @Test
  void aProgramWithoutLibrariesIsToldTheDependency() throws Exception {
    assertNamed(
        run(List.of(), ONE_RANK, classPath(false)),
        "are not on the class path (missing: javacpp, openblas, pytorch, leptonica,"
            + " torchfeed-native); add the dependency io.torchfeed:torchfeed-platform: ");
  }

  @Test
  void theLibrariesOfTorchfeedAloneAreMissed() throws Exception {
    String path =
        Arrays.stream(classPath(true).split(File.pathSeparator))
            .filter(entry -> !entry.matches(".*native/target/platform.*|.*torchfeed-native.*x86.*"))
            .collect(Collectors.joining(File.pathSeparator));
    assertNamed(run(List.of(), ONE_RANK, path), "(missing: torchfeed-native); add");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void anotherLibtorchIsRefusedBeforeItIsLoaded() throws Exception {
    Path other = Files.writeString(folder.resolve("libtorch_cpu.so"), "not the presets'");
    assertNamed(
        run(List.of(), with("LD_LIBRARY_PATH", folder), classPath(true)),
        "another libtorch is on LD_LIBRARY_PATH, " + other + ", and two in one process abort it");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aLibtorchForGpusIsRefusedAmongTheFoldersOfJava() throws Exception {
    Path other = Files.writeString(folder.resolve("libtorch_cuda.so"), "not the presets'");
    assertNamed(
        run(List.of(), ONE_RANK, classPath(true), "-Djava.library.path=/usr/lib:" + folder),
        "another libtorch is on java.library.path, " + other + ", and two in one process");
  }

  /** No module requires the jars with the libraries. */
  @Test
  void librariesThatAreOnTheModulePathAloneAreMissed() throws Exception {
    String modules =
        Arrays.stream(CLASS_PATH.split(File.pathSeparator))
            .filter(entry -> entry.matches(".*/(javacpp|openblas|pytorch)-[^/]*jar"))
            .collect(Collectors.joining(File.pathSeparator));
    String[] options = {"-p", modules, "--add-modules", "org.bytedeco.pytorch"};
    assertNamed(
        run(List.of(), ONE_RANK, classPath(false), options),
        "torchfeed-platform, and on the module path the option --add-modules ALL-MODULE-PATH: ");
  }

  private static Map<String, String> with(String variable, Path folder) {
    return Map.of("RANK", "0", "WORLD_SIZE", "1", variable, folder.toString());
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aLimitOfMemoryIsNamed() throws Exception {
    assertNamed(
        run(TestJvm.after("ulimit -v 1000000"), ONE_RANK, classPath(true)),
        "since the limit of this process (ulimit -v) is 1024000000 bytes; raise it: ");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aCacheFolderWithoutExecutionIsNamed() throws Exception {
    List<String> mount = new ArrayList<>(List.of("unshare", "-m"));
    String noexec = "mount -t tmpfs -o noexec,size=1g none '" + folder + "'";
    mount.addAll(TestJvm.after(noexec));
    List<String> attempt = Stream.concat(mount.stream(), Stream.of("true")).toList();
    assumeTrue(succeeds(attempt), "mounting needs root, unshare and a system that permits it");
    assertNamed(
        run(mount, ONE_RANK, classPath(true), "-Dorg.bytedeco.javacpp.cachedir=" + folder),
        "since JavaCPP's cache folder "
            + folder
            + " is in a file system that is mounted with"
            + " noexec; name another folder by -Dorg.bytedeco.javacpp.cachedir=FOLDER: ");
  }

  private boolean succeeds(List<String> command) throws InterruptedException {
    try (TestJvm attempt = TestJvm.launch(folder, Map.of(), command)) {
      return attempt.exitCode() == 0;
    } catch (IOException e) {
      return false; // no such program
    }
  }

  /** The self-check says so if too few files can be opened for the jars. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void aLimitOfOpenFilesIsNamed() throws Exception {
    int named = 0;
    for (int files = 8; files < 64 && named < 3; files++) {
      String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
      List<String> command = List.of(java, "-Xmx64m", "-cp", CLASS_PATH, SELF_CHECK);
      List<String> limited = TestJvm.after("ulimit -n " + files);
      List<String> lines = output(Map.of(), Stream.of(limited, command).flatMap(List::stream));
      if (lines.stream().anyMatch(line -> line.contains("FAILED: "))) {
        assertThat(lines).anyMatch(line -> line.contains("ulimit -n"));
        named++;
      }
    }
    assertThat(named).isPositive();
  }
}
