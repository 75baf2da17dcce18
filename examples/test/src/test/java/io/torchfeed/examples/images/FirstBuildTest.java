// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine.Model.OptionSpec;

/** Runs copies of the start scripts with programs in place of Java, Maven and the C++ tools. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FirstBuildTest {
  private final Path root;
  private Path data = Path.of("");

  FirstBuildTest(@TempDir Path root) {
    this.root = root;
  }

  @BeforeEach
  void copyScripts() throws IOException {
    for (String folder : List.of("cmake", "native", "java-api", "tools", "examples/common")) {
      Files.createDirectories(root.resolve(folder));
    }
    Path example = Files.createDirectories(root.resolve("examples/image-classifier"));
    Files.writeString(root.resolve("pom.xml"), "");
    copy(Path.of("../build.sh"), root.resolve("examples/build.sh"));
    for (String script : List.of("check-tools.sh", "first-cause.awk")) {
      copy(Path.of("../../native", script), root.resolve("native").resolve(script));
    }
    for (String script : List.of("run.sh", "train", "evaluate", "classify", "pack")) {
      copy(Path.of("../image-classifier", script), example.resolve(script));
    }
    copySources("examples/common");
    copySources("examples/image-classifier");
    data = Files.createDirectory(root.resolve("data"));
    Files.createDirectory(data.resolve("train"));
    Files.createFile(data.resolve("val.records"));
    tool("java", "echo \"    java.specification.version = 17\" >&2");
    for (String name : List.of("javac", "cmake", "ninja", "c++", "python3")) {
      tool(name, "exit 0");
    }
    tool(
        "mvn",
        "echo built >>\"$ROOT/builds\"; : >\"$ROOT/examples/image-classifier/target/classpath\"");
  }

  private void copySources(String folder) throws IOException {
    Path project = Path.of("..", "..").toRealPath();
    try (Stream<Path> sources = Files.walk(project.resolve(folder).resolve("src/main"))) {
      for (Path source : sources.filter(Files::isRegularFile).toList()) {
        Path copy = root.resolve(project.relativize(source).toString());
        Files.createDirectories(copy.getParent());
        copy(source, copy);
      }
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
  }

  private void tool(String name, String does) throws IOException {
    Path file = Files.writeString(root.resolve("tools").resolve(name), "#!/bin/sh\n" + does + "\n");
    assertThat(file.toFile().setExecutable(true)).isTrue();
  }

  private int run(String script, String... arguments) throws Exception {
    return command(script, arguments).start().waitFor();
  }

  private ProcessBuilder command(String script, String... arguments) {
    ProcessBuilder builder =
        new ProcessBuilder(
                "sh", root.resolve("examples/image-classifier").resolve(script).toString())
            .redirectErrorStream(true)
            .redirectOutput(output().toFile());
    builder.command().addAll(List.of(arguments));
    Map<String, String> environment = builder.environment();
    environment.remove("JAVA_HOME");
    environment.remove("CXX");
    environment.put("ROOT", root.toString());
    environment.put("PATH", root.resolve("tools") + ":" + environment.get("PATH"));
    return builder;
  }

  private Path output() {
    return root.resolve("output");
  }

  @Test
  void theScriptsShareABuild() throws Exception {
    assertThat(run("train", "--data", data.toString())).isZero();
    assertThat(run("evaluate", "--data=" + data)).isZero();
    assertThat(run("classify")).isZero();
    assertThat(run("pack", "images", root.resolve("packed").toString())).isZero();
    assertThat(Files.readAllLines(root.resolve("builds"))).containsExactly("built");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "pack     | images                 | two arguments are needed: the folder of the",
        "train    | --data=data --epoch=3  | Unknown option: '--epoch'; the commands of this",
        "train    | --epochs=3             | --data DIR is needed, a folder with train and val.",
        "train    | --data none --epochs=3 | --data: there is no folder none",
        "train    | --data=/ --epochs=3    | --data: the folder //train is missing, and so",
        "evaluate | --data /               | --data: the folder //val is missing, and so",
        "evaluate | --data=none/at/all     | --data: there is no folder none/at/all",
        "classify | --model none.pt        | --model: there is no file none.pt"
      })
  void wrongArgumentsExitWithCodeTwoBeforeABuild(String script, String line, String message)
      throws Exception {
    assertThat(run(script, line.split(" "))).isEqualTo(2);
    assertThat(output()).content().startsWith(script + ": " + message);
    assertThat(root.resolve("builds")).doesNotExist();
  }

  @Test
  void noOptionOfAProgramIsTakenForUnknown() throws Exception {
    for (var command : Main.commandLine().getSubcommands().entrySet()) {
      List<String> options = new ArrayList<>(List.of("--data=" + data));
      for (OptionSpec option : command.getValue().getCommandSpec().options()) {
        if (!option.usageHelp() && !option.longestName().matches("--(data|model)")) {
          options.add(option.longestName() + "=1");
        }
      }
      Files.deleteIfExists(root.resolve("examples/image-classifier/target/build.stamp"));
      assertThat(run(command.getKey(), options.toArray(new String[0])))
          .as("%s: %s", options, Files.readString(output()))
          .isZero();
    }
  }

  @Test
  void helpNeedsNoData() throws Exception {
    assertThat(run("train", "--help")).isZero();
  }

  @Test
  void allMissingToolsAreNamedInOneMessage() throws Exception {
    Path tools = root.resolve("tools");
    for (String name : List.of("javac", "mvn", "cmake", "ninja", "c++")) {
      Files.delete(tools.resolve(name));
    }
    tool("python3", "exit 1"); // has no pip
    for (String name : List.of("sh", "dirname", "find", "sed", "sort", "cat", "grep", "tr", "id")) {
      tool(name, "exec " + programOf(name) + " \"$@\"");
    }
    ProcessBuilder train = command("train", "--data=" + data);
    train.environment().put("PATH", tools.toString());
    train.environment().put("OS_RELEASE", "/dev/null");
    assertThat(train.start().waitFor()).isEqualTo(1);
    assertThat(Files.readAllLines(output()))
        .satisfiesExactly(
            line -> assertThat(line).isEqualTo("train: tools that the build needs are missing:"),
            line -> assertThat(line).startsWith("  javac: a JDK 17 or later"),
            line -> assertThat(line).startsWith("  mvn: "),
            line -> assertThat(line).startsWith("  cmake: "),
            line -> assertThat(line).startsWith("  ninja: "),
            line -> assertThat(line).startsWith("  c++: "),
            line -> assertThat(line).startsWith("  python3: "),
            line -> assertThat(line).isEqualTo("On Debian and Ubuntu this command installs them:"),
            line ->
                assertThat(line)
                    .endsWith(
                        "apt-get install -y default-jdk-headless maven cmake ninja-build g++"
                            + " python3-pip"));
  }

  @Test
  void toolsThatAreTooOldAreNamedWithTheirOwnWords() throws Exception {
    tool("java", "echo \"    java.specification.version = 11\" >&2");
    tool("cmake", "echo 'cmake version 3.18.4'");
    tool("c++", "echo \"c++: error: unrecognized option '-std=c++20'\" >&2; exit 1");
    assertThat(run("train", "--data=" + data)).isEqualTo(1);
    assertThat(output())
        .content()
        .contains("  java: is version 11; a JDK 17 or later")
        .contains("cmake is version 3.18; CMake 3.21 or later")
        .contains("  c++: compiles no C++20")
        .contains("    c++: error: unrecognized option '-std=c++20'")
        .containsPattern("install -y \\S*jdk\\S* g\\+\\+ *\n"); // the package of CMake is no newer
    assertThat(root.resolve("builds")).doesNotExist();
  }

  @Test
  void theReadmeHasTheCommandThatInstallsAllTools() throws Exception {
    ProcessBuilder command =
        new ProcessBuilder("sh", "../../native/check-tools.sh", "--command")
            .redirectErrorStream(true)
            .redirectOutput(output().toFile());
    command.environment().put("OS_RELEASE", "/dev/null");
    assertThat(command.start().waitFor()).isZero();
    String packages = Files.readString(output()).replaceFirst(".* install -y ", "");
    assertThat(Path.of("../../README.md")).content().contains("apt-get install -y " + packages);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "compiler | FAILED: x.o;/usr/bin/c++ -o x.o x.cc;x.cc:1:3: error: no y;[2/9] z;ninja: stopped"
            + " | FAILED: x.o;x.cc:1:3: error: no y",
        "cmake | CMake Error at x:3 (message):;  pip says no;;  Do this.;Call Stack (most recent);  x:9"
            + " | CMake Error at x:3 (message):;  pip says no;;  Do this.",
        "maven | [INFO] x;[ERROR] a.java:[1,2] no symbol;[ERROR] Failed to execute -> [Help 1]"
            + " | a.java:[1,2] no symbol;Failed to execute",
        "maven | [WARNING] COMPILATION;[WARNING] a.java:[1,2] old;[ERROR] -Werror specified"
            + " | a.java:[1,2] old;-Werror specified",
        "other | sh: mvn: killed | sh: mvn: killed"
      })
  void aFailedBuildShowsItsFirstCause(String kind, String printed, String cause) throws Exception {
    List<String> trace =
        List.of(
            "[ERROR] Command execution failed.", "\tat org.x.Y(Y.java:1)", "[ERROR] [Help 1] z");
    List<String> lines = new ArrayList<>(List.of(printed.split(";", -1)));
    if (!kind.equals("maven") && !kind.equals("other")) {
      lines.addAll(trace);
    }
    Files.write(root.resolve("printed"), lines);
    tool("mvn", "cat \"$ROOT/printed\"; exit 1");
    assertThat(run("train", "--data=" + data)).isEqualTo(1);
    List<String> expected = new ArrayList<>();
    expected.add("train: building (takes a few minutes the first time)");
    if (kind.equals("compiler")) {
      expected.add("train: compiled 2 of 9 parts of the C++ code");
    }
    expected.add("train: the build failed, because of:");
    for (String line : cause.split(";", -1)) {
      expected.add("  " + line);
    }
    assertThat(Files.readAllLines(output()))
        .startsWith(expected.toArray(String[]::new))
        .hasSize(expected.size() + 1)
        .last()
        .asString()
        .startsWith("train: all that the build printed is in ");
  }

  private static Path programOf(String name) {
    return Stream.of(System.getenv("PATH").split(":"))
        .map(folder -> Path.of(folder, name))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theProgressIsPrintedWhileTheBuildRuns() throws Exception {
    tool(
        "mvn",
        """
        echo '[INFO] Building torchfeed-native 0.1.0-2.10.0-SNAPSHOT                    [3/6]'
        echo '[INFO] --- exec-maven-plugin:3.6.2:exec (cmake-build) @ torchfeed-native ---'
        echo '[1/37] Building CXX object one.o'
        while [ ! -e "$ROOT/seen" ] && [ -e "$ROOT" ]; do sleep 0.1; done
        : >"$ROOT/examples/image-classifier/target/classpath"
        """);
    Process train = command("train", "--data=" + data).redirectOutput(Redirect.PIPE).start();
    try (BufferedReader output = train.inputReader()) {
      List<String> lines = new ArrayList<>();
      while (lines.size() < 4) {
        lines.add(String.valueOf(output.readLine()));
      }
      assertThat(lines)
          .containsExactly(
              "train: building (takes a few minutes the first time)",
              "train: building torchfeed-native",
              "train: compiling the C++ code; its first part takes a minute or more",
              "train: compiled 1 of 37 parts of the C++ code");
      Files.createFile(root.resolve("seen"));
      assertThat(train.waitFor()).isZero();
    }
  }
}
