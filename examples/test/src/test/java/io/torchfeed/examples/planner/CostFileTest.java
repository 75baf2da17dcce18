// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.balance.Costs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CostFileTest {
  @TempDir private Path folder = Path.of("");

  @Test
  void aColumnIsFoundByName() throws IOException {
    assertThat(read("id,tokens,kind\n0,7,a\n1,12,b\n", "tokens")).isEqualTo(Costs.of(7, 12));
  }

  @Test
  void aColumnIsFoundByNumberWithAndWithoutAHeader() throws IOException {
    assertThat(read("id,tokens\n0,7\n1,12\n", "2")).isEqualTo(Costs.of(7, 12));
    assertThat(read("0,7\n1,12\n", "2")).isEqualTo(Costs.of(7, 12));
  }

  @Test
  void aFirstLineOfNumbersIsASample() throws IOException {
    assertThat(read("1\n2\n3\n", "1")).isEqualTo(Costs.of(1, 2, 3));
  }

  @Test
  void quotesSpacesEmptyLinesAndCarriageReturnsDoNotMatter() throws IOException {
    assertThat(read("\"a,b\", n \r\n\"x\n y\",\" 5\"\r\n\r\nz,6\r\n", "n"))
        .isEqualTo(Costs.of(5, 6));
  }

  @Test
  void fractionsAreScaledToWholeNumbers() throws IOException {
    assertThat(read("0.5\n2\n1e0\n", "1")).isEqualTo(Costs.of(250_000, 1_000_000, 500_000));
    assertThat(read("3.0\n2e1\n", "1")).isEqualTo(Costs.of(3, 20));
    assertThat(read("0\n0.0\n", "1")).isEqualTo(Costs.of(0, 0));
  }

  @ParameterizedTest
  @CsvSource({
    "'', 1, holds no costs",
    "'tokens\n', tokens, holds no costs",
    "'a,b\n1,2\n', c, 'has no column c; it has a, b'",
    "'a,b\n1,2\n', 3, '--column must be in [1, 2]'",
    "'a,b\n1,2\n', 0, '--column must be in [1, 2]'",
    "'1\nx\n', 1, 'line 2: a cost must be a number, got ''x'''",
    "'1\n2\nNaN\n', 1, 'line 3: a cost must be at least 0 and finite, got NaN'",
    "'1\n-2\n', 1, 'line 2: a cost must be at least 0 and finite, got -2'",
    "'1\nInfinity\n', 1, 'got Infinity'",
    "'a,b\n1,2\n3\n', b, 'line 3: column 2 is missing'",
    "'a\n9e12\n', a, 'a cost must be below 2^42, got 9000000000000'",
    "'a,b\n\"1,2\n', a, 'a cost must be a number, got ''1,2 '''"
  })
  void anInvalidCostIsRejected(String text, String column, String message) {
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> read(text, column))
        .withMessageContaining(message);
  }

  @Test
  void aMissingFileAFolderAndABinaryFileAreRejected() throws IOException {
    Path binary = folder.resolve("binary");
    Files.write(binary, new byte[] {(byte) 0xff, (byte) 0xfe, 0, 10, (byte) 0xc0});
    for (Path file : new Path[] {folder.resolve("none.csv"), folder, binary}) {
      assertThatExceptionOfType(CommandException.class)
          .isThrownBy(() -> CostFile.read(file, "1"))
          .withMessageContaining(file.toString());
    }
  }

  private Costs read(String text, String column) throws IOException {
    Path file = folder.resolve("costs.csv");
    Files.writeString(file, text);
    return CostFile.read(file, column);
  }
}
