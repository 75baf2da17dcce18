// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.memory.DType;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class FileNamesTest {
  private Path folder;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) {
    folder = temporary;
  }

  @Test
  void fileNamesThatAreNotUtf8AreReadable() throws IOException {
    FileNames.make(folder);
    List<String> report = FileNames.report(folder);
    assertThat(report.get(0)).isEqualTo("rows [10, 11, 12, 13, 14]");
    assertThat(report).anyMatch(line -> line.matches("csv value 7"));
    assertThat(report).anyMatch(line -> line.matches("csv error in file:.*/%FF.csv"));
    assertThat(report).anyMatch(line -> line.matches("removed file:.*/%C3%A9"));
    assertThat(report).contains("graph saved and loaded");
    assertThat(report).anyMatch(line -> line.matches("image 4 file:.*/%FF%E7/%FF%E7.png"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"C", "POSIX", "C.UTF-8"})
  void theLocaleMakesNoDifference(String locale) throws Exception {
    FileNames.make(folder);
    List<String> expected = FileNames.report(folder);
    try (TestJvm java =
        TestJvm.start(
            Files.createDirectory(folder.resolve("output")),
            Map.of("LC_ALL", locale),
            List.of(),
            FileNames.class.getName(),
            folder.toString())) {
      assertThat(java.exitCode()).as("%s", java.output()).isZero();
      List<String> output = java.output();
      assertThat(output.get(0))
          .isEqualTo("names " + (locale.equals("C.UTF-8") ? "UTF-8" : "ANSI_X3.4-1968"));
      assertThat(output.subList(1, output.size())).isEqualTo(expected);
    }
  }

  @Test
  void theNameOfADeletedFileIsDecodedAsFarAsPossible() throws IOException {
    Path file = Files.write(FileNames.path(folder, "caf%C3%A9%FF"), new byte[1]);
    FileColumn column = FileColumn.raw(RowLayout.of(DType.UINT8), file);
    Files.delete(file);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> FileDataset.of(column))
        .withMessageContaining("caf")
        .withMessageContaining("cannot be opened: No such file");
  }
}
