// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.data.Rows;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.storage.MemorySource;
import io.torchfeed.testing.TestJvm;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CsvFileTest {
  private Path folder;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) {
    folder = temporary;
  }

  private Path write(String text) throws IOException {
    return Files.writeString(folder.resolve("data.csv"), text);
  }

  @Test
  void columnsAreSelectedByName() throws IOException {
    Path file =
        write(
            "\ufeffname, x,y,\"la\"\"bel\"\n\"a, \"\"b\"\"\nc\", 0.5,1e2,7\r\n\nd,-3 ,\"4\",-1\n");
    try (TensorDataset data =
            CsvFile.of(file)
                .load(
                    CsvFile.CsvColumn.of(DType.INT64, "la\"bel"),
                    CsvFile.CsvColumn.of(DType.FLOAT32, "y", "x"));
        DataLoader loader = DataLoader.over(data).batchSize(2).build();
        Batches batches = loader.epoch(0)) {
      assertThat(data.size()).isEqualTo(2);
      Batch batch = batches.next();
      assertThat(Rows.longs(batch.tensor(0))).containsExactly(7, -1);
      assertThat(batch.tensor(1).sizes().vec().get()).containsExactly(2, 2);
      float[] values = new float[4];
      batch.tensor(1).data_ptr_float().get(values);
      assertThat(values).containsExactly(100f, 0.5f, 4f, -3f);
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.MATCH_NONE,
      names = {"UINT(16|32|64)", "B?FLOAT(8|16).*", "COMPLEX.*"})
  void everyDtypeOfTextIsParsed(DType dtype) throws IOException {
    Path file = write("a\tb\n1\t2\n0\t3\n");
    try (TensorDataset data =
            CsvFile.of(file).separatedBy('\t').load(CsvFile.CsvColumn.of(dtype, "a"));
        DataLoader loader = DataLoader.over(data).batchSize(2).build();
        Batches batches = loader.epoch(0)) {
      Tensor column = batches.next().tensor(0);
      assertThat(column.scalar_type().intern()).isEqualTo(dtype.scalarType());
      assertThat(Rows.longs(column.to(torch.ScalarType.Long))).containsExactly(1, 0);
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.MATCH_ANY,
      names = {"UINT(16|32|64)", "B?FLOAT(8|16).*", "COMPLEX.*"})
  void otherDtypesAreRefused(DType dtype) {
    String problem =
        "text must be read as one of [BOOL, UINT8, INT8, INT16, INT32, INT64, FLOAT32, FLOAT64],"
            + " got %s; convert the batches".formatted(dtype);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.CsvColumn.of(dtype, "a"))
        .withMessage(problem);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TextRows.separatedBy(",", List.of(RowSpec.of(dtype))))
        .withMessage(problem);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "INT64|x|line 3, column a: an int64 must be a whole number of 64 bits, got \"x\"",
        "INT64|9223372036854775808|line 3, column a: an int64 must be",
        "INT8|128|line 3, column a: an int8 must be a whole number in [-128, 127], got \"128\"",
        "UINT8|-1|line 3, column a: a uint8 must be a whole number in [0, 255], got \"-1\"",
        "INT16|1.0|line 3, column a: an int16 must be",
        "INT32|''|line 3, column a: an int32 must be",
        "BOOL|yes|line 3, column a: a bool must be true, false, 1 or 0, got \"yes\"",
        "INT64|١٢|line 3, column a: an int64 must be a whole number of 64 bits, got \"١٢\"",
        "UINT8|１|line 3, column a: a uint8 must be",
        "FLOAT32|1d|line 3, column a: a float32 must be a decimal number of at most 3.4028235e38 in"
            + " magnitude, inf or nan, got \"1d\"",
        "FLOAT32|1e39|line 3, column a: a float32 must be",
        "FLOAT64|1e400|line 3, column a: a float64 must be a decimal number of at most"
            + " 1.7976931348623157e308 in magnitude, inf or nan, got \"1e400\"",
        "FLOAT64|0x1p3|line 3, column a: a float64 must be a decimal number",
        "FLOAT64|0X1P3|line 3, column a: a float64 must be a decimal number",
        "FLOAT64|١.٥|line 3, column a: a float64 must be",
        "FLOAT64|''|line 3, column a: a float64 must be a decimal number"
      })
  void aNonNumericFieldIsReported(DType dtype, String field, String problem) throws IOException {
    Path file = write("a,b\n1,0\n" + field + ",0\n1,0\n");
    assertThatExceptionOfType(FieldException.class)
        .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(dtype, "a")))
        .withMessageStartingWith(file + ", " + problem)
        .satisfies(
            e -> {
              assertThat(e.path()).isEqualTo(file);
              assertThat(e.place()).isEqualTo("line 3");
              assertThat(e.column()).isEqualTo("column a");
              assertThat(e.text()).isEqualTo(field);
            });
  }

  @Test
  void infinityAndNanAreSpelledAsInPython() throws IOException {
    Path file = write("a\n-inf\nInfinity\nNaN\n+1.5E+3\n");
    try (TensorDataset data = CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.FLOAT64, "a"));
        DataLoader loader = DataLoader.over(data).batchSize(4).build();
        Batches batches = loader.epoch(0)) {
      double[] values = new double[4];
      batches.next().tensor(0).data_ptr_double().get(values);
      assertThat(values)
          .containsExactly(Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY, Double.NaN, 1500.0);
    }
  }

  @Test
  void recordsOfADifferentLengthAreReported() throws IOException {
    for (String record : new String[] {"1", "1,2,3"}) {
      Path file = write("a,b\n1,2\n" + record + "\n");
      assertThatExceptionOfType(FieldException.class)
          .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "a")))
          .withMessage(file + ", line 3, record: must have 2 fields, got \"" + record + "\"");
    }
  }

  @Test
  void missingAndDuplicateNamesAreRefused() throws IOException {
    Path file = write("a,b,b\n1,2,3\n");
    for (String name : new String[] {"c", "b"}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, name)))
          .withMessage(file + " must have exactly one column \"" + name + "\", got [a, b, b]");
    }
    assertThatIllegalArgumentException().isThrownBy(() -> CsvFile.CsvColumn.of(DType.INT64));
    Path pointer = write("version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(pointer).load(CsvFile.CsvColumn.of(DType.INT64, "a")))
        .withMessageEndingWith(
            "/v1]: it is a Git LFS pointer in the place of the file; get the file"
                + " by git lfs pull");
    Path wide = write("name,".repeat(10_000) + "last\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(wide).load(CsvFile.CsvColumn.of(DType.INT64, "name")))
        .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(1000).contains("…"));
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(
            () -> CsvFile.of(folder.resolve("none")).load(CsvFile.CsvColumn.of(DType.INT64, "a")))
        .withMessageContaining("none");
  }

  /** Also where the quote swallows a column that is not loaded, and all records behind it. */
  @ParameterizedTest
  @CsvSource({
    "'a,b\n1,\"2\n3,4\n5,6\n', 2",
    "'a,b\n1,2\n3,\"\"\"4', 3",
    "'a,b\n1,\"\n2\"\n3,4\n5,\"6\"\"\n', 5",
    "'a,\"b\n1,2\n', 1"
  })
  void anUnclosedQuoteIsReportedWithItsLine(String text, int line) throws IOException {
    Path file = write(text);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "a")))
        .withMessage(
            file
                + " is not CSV: Unclosed quoted field at end of input (record starting at line %d)",
            line);
  }

  @Test
  void anUnclosedQuoteOfALongFileIsReportedWithItsLine() throws IOException {
    Path file = write("a,b\n1,2\n3,\"" + "4\n5,6\n".repeat(1 << 22));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CsvFile.of(file).load(CsvFile.CsvColumn.of(DType.INT64, "a")))
        .withMessageContaining("line 3");
  }

  @Test
  void anUnreadableFileIsReportedWithTheReason() {
    Path unreadable = Path.of("/proc/self/mem");
    assumeTrue(Files.isReadable(unreadable), "this system has no file that cannot be read");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> CsvFile.of(unreadable).load(CsvFile.CsvColumn.of(DType.INT64, "a")))
        .withMessage("cannot read /proc/self/mem: Input/output error");
  }

  @Test
  void aFileWithoutRecordsIsEmpty() throws IOException {
    try (TensorDataset data =
        CsvFile.of(write("a,b\n")).load(CsvFile.CsvColumn.of(DType.INT64, "a"))) {
      assertThat(data.size()).isZero();
    }
  }

  /** A program whose class path lacks FastCSV. */
  static final class WithoutFastCsv {
    private WithoutFastCsv() {}

    public static void main(String[] file) {
      try {
        CsvFile.of(Path.of(file[0])).load(CsvFile.CsvColumn.of(DType.FLOAT32, "x"));
      } catch (IllegalStateException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @Test
  void aMissingParserIsNamed() throws Exception {
    String classPath =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
            .filter(entry -> !entry.contains("fastcsv"))
            .collect(Collectors.joining(File.pathSeparator));
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            classPath,
            WithoutFastCsv.class.getName(),
            write("x\n1\n").toString());
    try (TestJvm program = TestJvm.launch(folder, Map.of(), command)) {
      assertThat(program.exitCode()).as("%s", program.output()).isZero();
      assertThat(program.output())
          .containsExactly(
              "CSV needs FastCSV; add the dependency de.siegmar:fastcsv, version 4.4.0");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void sourcesAreReadAsFiles(boolean isCompressed) throws IOException {
    StringBuilder text = new StringBuilder("\ufeffx,y\n");
    for (int i = 0; i < 2000; i++) {
      text.append(i).append(',').append(i * 0.5).append('\n');
    }
    Path file = write(text.toString());
    byte[] bytes = Files.readAllBytes(file);
    if (isCompressed) {
      ByteArrayOutputStream packed = new ByteArrayOutputStream();
      try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
        out.write(bytes);
      }
      bytes = packed.toByteArray();
    }
    MemorySource source = new MemorySource("store/data.csv", bytes);
    source.most = 1000;
    CsvFile.CsvColumn[] columns = {
      CsvFile.CsvColumn.of(DType.INT64, "x"), CsvFile.CsvColumn.of(DType.FLOAT32, "y")
    };
    try (TensorDataset data = CsvFile.of(source, source).load(columns);
        DataLoader loader = DataLoader.over(data).batchSize(4000).build();
        Batches batches = loader.epoch(0)) {
      assertThat(data.size()).isEqualTo(4000);
      Batch batch = batches.next();
      assertThat(Rows.longs(batch.tensor(0)))
          .isEqualTo(LongStream.range(0, 4000).map(i -> i % 2000).toArray());
      float[] values = new float[4000];
      batch.tensor(1).data_ptr_float().get(values);
      assertThat(values[3999]).isEqualTo(1999 * 0.5f);
    }
    source.failsAt = 5;
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> CsvFile.of(source).load(columns))
        .withMessageStartingWith("cannot read store/data.csv: ")
        .withMessageContaining("no route to the store");
  }

  private static byte[] member(String text) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write(text.getBytes(UTF_8));
    }
    return packed.toByteArray();
  }

  @Test
  void noMemberOfAGzipFileIsLostWithoutAnError() throws IOException {
    byte[] second = member("3\n4\n");
    ByteArrayOutputStream padded = new ByteArrayOutputStream();
    padded.writeBytes(member("a\n1\n2\n"));
    padded.writeBytes(new byte[7]);
    padded.writeBytes(second);
    Path file = Files.write(folder.resolve("data.csv.gz"), padded.toByteArray());
    CsvFile.CsvColumn column = CsvFile.CsvColumn.of(DType.INT64, "a");
    try (TensorDataset data = CsvFile.of(file).load(column)) {
      assertThat(data.size()).isEqualTo(4);
    }
    byte[] damaged = padded.toByteArray();
    damaged[damaged.length - second.length + 1] = 0;
    byte[] cut = Arrays.copyOf(damaged, damaged.length - second.length + 1);
    for (byte[] content : new byte[][] {damaged, cut}) {
      Files.write(file, content);
      assertThatExceptionOfType(UncheckedIOException.class)
          .isThrownBy(() -> CsvFile.of(file).load(column))
          .withMessageContaining("data.csv.gz");
    }
  }
}
