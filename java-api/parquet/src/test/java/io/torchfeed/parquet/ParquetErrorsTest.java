// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values, columns and files that are refused, and by which words. */
class ParquetErrorsTest {
  private static final Path FILE = Golden.file("plain.parquet");

  @TempDir private Path folder = Path.of("");

  private ThrowableAssertAlternative<ParquetException> refused(
      Path file, Problem problem, ParquetColumn... columns) {
    return assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(
            () -> ParquetFiles.of(file).rows(columns).withThreads(1).store(folder.resolve("rows")))
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          gaps | INT32 | 0 | row group 0, row 1 | the value must not be null without withMissingValue
          thin | INT64 | 2 | row group 0, row 1 | the value must not be null without withMissingValue
          user.age | INT64 | 0 | row group 0, row 7 | the value must not be null
          user.place.x | FLOAT32 | 0 | row group 0, row 7 | the value must not be null
          list | FLOAT32 | 4 | row group 0, row 0 | the list must have 4 elements, got 3
          matrix | INT32 | 2 3 | row group 0, row 0 | the list must have 3 elements, got 2
          bytes | UINT8 | 5 | row group 0, row 0 | the value must have 5 bytes, got 4
          i16 | INT8 | 0 | row group 0, row 0 | the value must be in [-128, 127], got -32768
          u64 | INT8 | 0 | row group 0, row 1 | the value must be in [-128, 127], got
          i64 | UINT8 | 0 | row group 0, row 0 | the value must be in [0, 255], got -9223372036854775808
          dot.ted | BOOL | 0 | row group 0, row 2 | the value must be in [0, 1], got 2
          """)
  void aValueIsRefusedWithItsPlace(
      String path, DType dtype, String shape, String place, String problem) {
    refused(FILE, Problem.VALUE, column(path, dtype, shape))
        .withMessageStartingWith("%s, %s, column %s = %s: ", FILE, place, path, path)
        .withMessageContaining(problem);
  }

  private static ParquetColumn column(String path, DType dtype, String shape) {
    long[] dimensions =
        Arrays.stream(shape.split(" ", -1)).mapToLong(Long::parseLong).filter(n -> n > 0).toArray();
    return ParquetColumn.of(path, dtype, dimensions);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          nothing | INT32 | 0 | must have a column nothing, got flag, i8, i16
          user | INT32 | 0 | column user is a group of [age, place]; name one of them, for example user.age
          user.name | INT32 | 0 | must have a column user.name, got
          word | INT64 | 0 | cannot be made from byte_array (STRING); make a FittedColumns with a CategoryColumn of it
          f32 | INT64 | 0 | the column f32 = f32: int64 [] cannot be made from float
          price | INT64 | 0 | cannot be made from
          i32 | INT32 | 2 | the column i32 = i32: int32 [2] cannot be made from int32
          matrix | INT32 | 4 | cannot be made from lists of int32
          """)
  void aColumnIsRefusedBeforeAnythingIsWritten(
      String path, DType dtype, String shape, String problem) {
    refused(FILE, Problem.SCHEMA, column(path, dtype, shape))
        .withMessageStartingWith(FILE.toString())
        .withMessageContaining(problem);
    assertThat(folder.resolve("rows")).doesNotExist();
  }

  @Test
  void filesThatAreNoneAreNamed() throws IOException {
    byte[] bytes = Files.readAllBytes(FILE);
    Path file = folder.resolve("bad.parquet");
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetFiles.of(file))
        .withMessageContaining("bad.parquet");
    for (int length : List.of(0, 3, 100, bytes.length - 1, bytes.length / 2)) {
      Files.write(file, Arrays.copyOf(bytes, length));
      assertThatExceptionOfType(ParquetException.class)
          .isThrownBy(() -> ParquetFiles.of(file))
          .withMessageContaining("bad.parquet")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.FILE));
    }
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetFiles.inFolder(folder.resolve("none")))
        .withMessageContaining("cannot be listed");
    Files.createDirectories(folder.resolve("empty"));
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetFiles.inFolder(folder.resolve("empty")))
        .withMessage(folder.resolve("empty") + " must have a file *.parquet, got none");
  }

  @Test
  void aDamagedPageIsAnErrorWithFileAndGroup() throws IOException {
    byte[] bytes = Files.readAllBytes(Golden.file("pages.parquet")); // with checksums
    int noticed = 0;
    Path file = folder.resolve("damaged.parquet");
    ParquetColumn[] columns = {
      ParquetColumn.of("i64", DType.INT64), ParquetColumn.of("list", DType.FLOAT32, 3)
    };
    String whole =
        ParquetFiles.of(Golden.file("pages.parquet"))
            .rows(columns)
            .store(folder.resolve("whole"))
            .digest();
    for (int at = 4; at < 4000; at += 97) {
      byte[] damaged = bytes.clone();
      damaged[at] ^= 0x55;
      Files.write(file, damaged);
      ParquetRows rows = ParquetFiles.of(file).rows(columns).withThreads(1);
      try {
        assertThat(rows.store(folder.resolve("rows" + at)).digest())
            .as("byte %d", at)
            .isEqualTo(whole);
      } catch (ParquetException e) {
        assertThat(e).hasMessageContaining("damaged.parquet, row group");
        noticed++;
      }
    }
    assertThat(noticed).isPositive();
  }

  /**
   * Hardwood alone reads the missing bytes of this file of apache/parquet-testing again and again.
   */
  @Test
  @Timeout(60)
  void aColumnThatIsShorterThanItsPagesIsAnError() {
    Path file = Path.of("src/test/resources/nation.dict-malformed.parquet");
    refused(
            file,
            Problem.FILE,
            ParquetColumn.of("nation_key", DType.INT32),
            ParquetColumn.of("name", DType.UINT8, 7))
        .withMessageContaining("row group 0")
        .withMessageContaining("the pages of a column continue behind its end, at byte 451");
  }

  @Test
  void argumentsThatContradictAreRefused() {
    ParquetFiles files = ParquetFiles.of(FILE);
    ParquetColumn x = ParquetColumn.of("i64", DType.INT64);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> files.rows(x, x))
        .withMessage("there are two columns named i64; use withName");
    assertThatIllegalArgumentException().isThrownBy(files::rows);
    assertThatIllegalArgumentException().isThrownBy(() -> x.withMissingValue(0.5));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ParquetColumn.of("x", DType.INT8).withMissingValue(128));
    assertThatIllegalArgumentException().isThrownBy(() -> ParquetColumn.of("x", DType.BFLOAT16));
    assertThatIllegalArgumentException().isThrownBy(() -> ParquetColumn.of("", DType.INT8));
    assertThatIllegalArgumentException().isThrownBy(() -> ParquetColumn.of("x", DType.INT8, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> files.rows(x).withThreads(0));
    assertThatIllegalArgumentException().isThrownBy(() -> ParquetFiles.of(List.of()));
  }

  @Test
  void bytesThatAreNoImageAreRefusedWithTheirPlace() {
    ImagePlan plan = ImagePlan.builder().resize(8, 8).build();
    refused(FILE, Problem.VALUE, ParquetColumn.image("bytes", plan))
        .withMessageStartingWith(FILE + ", row group 0, row 0, column bytes: ");
    refused(FILE, Problem.SCHEMA, ParquetColumn.image("i64", plan))
        .withMessageContaining("images must be binary values, got int64 in column i64");
  }
}
