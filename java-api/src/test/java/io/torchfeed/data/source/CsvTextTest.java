// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.Rows;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CsvTextTest {
  private Path folder;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) {
    folder = temporary;
  }

  private Path write(String text) throws IOException {
    return Files.writeString(folder.resolve("data.csv"), text);
  }

  @Test
  void aRecordOfTooManyFieldsIsRefused() throws IOException {
    Path file = write("x\n1\n" + ",".repeat(1 << 14) + "\n2\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "x")))
        .withMessageContaining("data.csv is not CSV: ")
        .withMessageContaining("line 3")
        .withMessageContaining("at most 16384 fields");
  }

  @Test
  void fieldsOfAnyLengthAndNumberAreRead() throws IOException {
    String names = IntStream.range(0, 3000).mapToObj(i -> "x" + i).collect(Collectors.joining(","));
    String row = IntStream.range(0, 3000).mapToObj(i -> " " + i).collect(Collectors.joining(","));
    Path file = write(names + ",text\n" + row + ",\"" + "a,\n".repeat(50_000) + "\"\n");
    CsvFile.CsvColumn column = CsvFile.CsvColumn.of(DType.INT64, "x0", "x17", "x2999");
    try (TensorDataset data = CsvFile.of(file).load(column);
        DataLoader loader = DataLoader.over(data).build();
        Batches batches = loader.epoch(0)) {
      assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(0, 17, 2999);
    }
  }

  private void assertRead(Charset charset, String begin) throws IOException {
    Path file =
        Files.write(folder.resolve("data.csv"), (begin + "x,Köln\n1,2\n").getBytes(charset));
    CsvFile.CsvColumn column = CsvFile.CsvColumn.of(DType.INT64, "x", "Köln");
    try (TensorDataset data = CsvFile.of(file).load(column);
        DataLoader loader = DataLoader.over(data).build();
        Batches batches = loader.epoch(0)) {
      assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(1, 2);
    }
  }

  @Test
  void aByteOrderMarkTellsTheEncoding() throws IOException {
    assertRead(UTF_8, "");
    assertRead(UTF_8, "\ufeff");
    assertRead(StandardCharsets.UTF_16LE, "\ufeff");
    assertRead(StandardCharsets.UTF_16BE, "\ufeff");
    Path file = folder.resolve("data.csv");
    Files.write(file, "x,y\n1,2\n".getBytes(StandardCharsets.UTF_16LE));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "x")))
        .withMessageContaining("zero bytes, as UTF-16 without a byte-order mark");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 5_000, 100_000})
  void bytesThatAreNoTextAreNamedWithTheirLine(int before) throws IOException {
    String text = "x,c\n" + "1,a\n".repeat(before) + "2,Köln\n3,b\n";
    Path file = Files.write(folder.resolve("data.csv"), text.getBytes(ISO_8859_1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "x")))
        .withMessageStartingWith(file + ", line " + (before + 2) + ": the text must be UTF-8")
        .withMessageContaining("iconv -f ISO-8859-1 -t UTF-8");
  }
}
