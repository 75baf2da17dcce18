// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoadersTest {
  private final StringWriter output = new StringWriter();
  private Path folder = Path.of("");

  @BeforeEach
  void nameTheFolder(@TempDir Path folder) {
    this.folder = folder;
  }

  private int run(String... options) {
    String[] arguments = new String[options.length + 2];
    arguments[0] = "--mnist=" + folder.resolve("mnist");
    arguments[1] = "--work=" + folder.resolve("work");
    System.arraycopy(options, 0, arguments, 2, options.length);
    PrintWriter writer = new PrintWriter(output, true);
    return Loaders.commandLine().setOut(writer).setErr(writer).execute(arguments);
  }

  @ParameterizedTest
  @CsvSource({
    "--rounds=0, '--rounds must be at least 1, got 0'",
    "--rows=E, E",
    "--rows=, --rows",
    "--bogus, Unknown option"
  })
  void anInvalidOptionIsReportedWithExitCodeTwo(String option, String message) {
    assertThat(run(option)).isEqualTo(2);
    assertThat(output.toString()).startsWith("error: ").contains(message, "loaders --help");
    assertThat(output.toString()).doesNotContain("\tat ");
  }

  @Test
  void aFolderThatCannotBeCreatedExitsWithCodeTwo() throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "");
    assertThat(run("--out=" + file.resolve("results"))).isEqualTo(2);
    assertThat(output.toString()).startsWith("error: --out must be a folder").contains("file");
  }

  @Test
  void rowsWithMissingFilesAreLeftOut() {
    assertThat(run("--rows=A", "--out=" + folder.resolve("results"))).isEqualTo(1);
  }
}
