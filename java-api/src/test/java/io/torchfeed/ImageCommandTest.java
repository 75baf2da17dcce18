// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageCommandTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  private final ByteArrayOutputStream errors = new ByteArrayOutputStream();

  private int run(String... args) {
    bytes.reset();
    errors.reset();
    return ImageCommand.run(
        List.of(args),
        new PrintStream(bytes, true, StandardCharsets.UTF_8),
        new PrintStream(errors, true, StandardCharsets.UTF_8));
  }

  private String output() {
    return bytes.toString(StandardCharsets.UTF_8);
  }

  @Test
  void packsAndVerifies(@TempDir Path temporary) throws IOException {
    Path root = temporary.resolve("images");
    Path file = temporary.resolve("records");
    Files.createDirectories(root.resolve("a"));
    try (InputStream image = ImageCommandTest.class.getResourceAsStream("/golden/images/420.jpg")) {
      Files.copy(requireNonNull(image), root.resolve("a").resolve("1.jpg"));
    }
    assertThat(run("pack", root.toString(), file.toString())).as(output()).isZero();
    assertThat(output()).contains("wrote 1 images of 1 classes to " + file);
    assertThat(run("verify", file.toString())).as(output()).isZero();
    assertThat(output()).contains(file + ": 1 images, 0 of them damaged");

    byte[] damaged = Files.readAllBytes(file);
    damaged[2000] ^= 1;
    Files.write(file, damaged);
    assertThat(run("verify", file.toString())).isEqualTo(1);
    assertThat(output()).contains("image 0: its checksum is wrong", "1 of them damaged");
  }

  @Test
  void namesOfFilesDoNotChangeTheTerminal(@TempDir Path temporary) throws IOException {
    Path folder = temporary.resolve("images");
    Files.createDirectories(folder.resolve("a"));
    try (InputStream image = ImageCommandTest.class.getResourceAsStream("/golden/images/420.jpg")) {
      Files.copy(requireNonNull(image), folder.resolve("a/1.jpg"));
    }
    Path file = temporary.resolve("r\u001b[2J");
    assertThat(run("pack", folder.toString(), file.toString())).as(output()).isZero();
    assertThat(output()).contains("r\\u001b[2J").doesNotContain("\u001b");
    assertThat(run("verify", file.toString())).as(output()).isZero();
    assertThat(output()).contains("r\\u001b[2J: 1 images").doesNotContain("\u001b");
    assertThat(run("verify", temporary.resolve("no\n\u001bne").toString())).isEqualTo(1);
    assertThat(errors.toString(StandardCharsets.UTF_8).lines())
        .singleElement()
        .asString()
        .contains("no\\n\\u001bne");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h"})
  void theArgumentsAreHelp(String option) {
    assertThat(run(option)).isZero();
    assertThat(output()).startsWith("images pack FOLDER FILE: ").contains("images verify FILE: ");
    assertThat(errors.size()).isZero();
  }

  @Test
  void namesWhatIsWrong(@TempDir Path temporary) {
    assertThat(run("verify", temporary.resolve("none").toString())).isEqualTo(1);
    assertThat(errors.toString(StandardCharsets.UTF_8))
        .startsWith("error: ")
        .contains("No such file or directory");
    assertThat(run("pack", temporary.toString(), "file")).isEqualTo(1);
    assertThat(errors.toString(StandardCharsets.UTF_8))
        .startsWith("error: a folder for each class is needed");
    assertThat(run("pack", temporary.toString())).isEqualTo(2);
    assertThat(errors.toString(StandardCharsets.UTF_8))
        .startsWith("error: the arguments must be images pack FOLDER FILE |");
  }
}
