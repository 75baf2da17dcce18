// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs copies of the start scripts with programs in place of Java, Maven and the C++ tools. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FirstBuildTest {
  private final Path root;

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
    for (String script : List.of("train", "evaluate", "classify", "pack")) {
      copy(Path.of(script), example.resolve(script));
    }
    tool("java", "echo \"    java.specification.version = 17\" >&2");
    for (String name : List.of("javac", "cmake", "ninja", "c++", "python3")) {
      tool(name, "exit 0");
    }
    tool(
        "mvn",
        "echo built >>\"$ROOT/builds\"; : >\"$ROOT/examples/image-classifier/target/classpath\"");
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
  }

  private void tool(String name, String does) throws IOException {
    Path file = Files.writeString(root.resolve("tools").resolve(name), "#!/bin/sh\n" + does + "\n");
    assertThat(file.toFile().setExecutable(true)).isTrue();
  }

  private int run(String script, String... arguments) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(
                "sh", root.resolve("examples/image-classifier").resolve(script).toString())
            .redirectErrorStream(true)
            .redirectOutput(root.resolve("output").toFile());
    builder.command().addAll(List.of(arguments));
    Map<String, String> environment = builder.environment();
    environment.remove("JAVA_HOME");
    environment.remove("CXX");
    environment.put("ROOT", root.toString());
    environment.put("PATH", root.resolve("tools") + ":" + environment.get("PATH"));
    return builder.start().waitFor();
  }

  @Test
  void theScriptsShareABuild() throws Exception {
    assertThat(run("train")).isZero();
    assertThat(run("evaluate")).isZero();
    assertThat(run("classify")).isZero();
    assertThat(run("pack", "images", root.resolve("packed").toString())).isZero();
    assertThat(Files.readAllLines(root.resolve("builds"))).containsExactly("built");
  }

  @Test
  void wrongArgumentsExitWithCodeTwoBeforeABuild() throws Exception {
    assertThat(run("pack", "images")).isEqualTo(2);
    assertThat(Files.readString(root.resolve("output")))
        .isEqualTo(
            "pack: two arguments are needed: the folder of the images and that of the record"
                + " files.\n");
    assertThat(root.resolve("builds")).doesNotExist();
  }
}
