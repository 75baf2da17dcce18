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
    copy(Path.of("../../native/check-tools.sh"), root.resolve("native/check-tools.sh"));
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
    for (String name : List.of("sh", "dirname", "find", "sed", "sort", "cat", "grep", "tr")) {
      tool(name, "exec " + programOf(name) + " \"$@\"");
    }
    ProcessBuilder train = command("train", "--data=" + data);
    train.environment().put("PATH", tools.toString());
    assertThat(train.start().waitFor()).isEqualTo(1);
    assertThat(Files.readAllLines(output()))
        .satisfiesExactly(
            line -> assertThat(line).isEqualTo("train: tools that are needed were not found:"),
            line -> assertThat(line).startsWith("  javac: install a JDK 17 or later"),
            line -> assertThat(line).startsWith("  mvn: "),
            line -> assertThat(line).startsWith("  cmake: "),
            line -> assertThat(line).startsWith("  ninja: "),
            line -> assertThat(line).startsWith("  c++: "),
            line -> assertThat(line).startsWith("  pip of python3: "));
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
