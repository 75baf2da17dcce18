// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables and images of Parquet files. */
class ParquetTableTest {
  private static final TableColumns COLUMNS =
      TableColumns.of(
          TableTensor.features(
              "x",
              NumberColumn.of("gaps", "user.age").withMissingMean().withMissingMask(),
              NumberColumn.ofDates("day", "time").withStandardization(),
              NumberColumn.of("price", "flag"),
              CategoryColumn.of("word")),
          TableTensor.categories("label", CategoryColumn.of("word").withMissingCategory()),
          TableTensor.number("y", NumberColumn.of("i16")));

  /** The first rows as pyarrow has them. */
  private static final List<Map<String, Object>> FIRST = List.of(row(0), row(1));

  private static Map<String, Object> row(int i) {
    Map<String, Object> row = new HashMap<>();
    row.put("gaps", i == 0 ? Integer.MIN_VALUE : null);
    row.put("user.age", i);
    row.put("day", i == 1 ? "2026-11-28" : "1969-12-31");
    row.put("time", Instant.EPOCH.plusNanos((1_000_000_000_000_000L + i * 1_234_567L) * 1000));
    row.put("price", (i * 7919 - 5000) / 100.0);
    row.put("flag", i == 0);
    row.put("word", List.of("a", "bc", "d\u00e9").get(i));
    row.put("i16", 0);
    return row;
  }

  private static List<float[]> features(NativeDataset data) {
    List<float[]> rows = new ArrayList<>();
    try (DataLoader loader = DataLoader.over(data).batchSize(7).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        int width = (int) batch.tensor("x").size(1);
        float[] all = new float[batch.size() * width];
        batch.tensor("x").data_ptr_float().get(all);
        for (int i = 0; i < batch.size(); i++) {
          rows.add(Arrays.copyOfRange(all, i * width, (i + 1) * width));
        }
      }
    }
    return rows;
  }

  @Test
  void storedTensorsAreThoseOfTheTableInMemory(@TempDir Path folder) {
    for (String name : List.of("plain.parquet", "delta.parquet", "int96.parquet")) {
      ParquetFiles files = ParquetFiles.of(Golden.file(name));
      TableRows table = files.read(COLUMNS);
      FittedColumns fitted = files.fit(COLUMNS);
      assertThat(table.size()).isEqualTo(Golden.ROWS);
      assertThat(table.fit()).isEqualTo(fitted);
      assertThat(fitted.categories("label")).containsExactly("a", "bc", "d\u00e9");

      try (FileDataset stored = files.rows(fitted).store(folder.resolve(name)).dataset();
          NativeDataset memory = table.dataset(fitted);
          NativeDataset first = TableRows.of(COLUMNS, FIRST).dataset(fitted)) {
        List<float[]> rows = features(stored);
        assertThat(rows)
            .hasSize(Golden.ROWS)
            .usingRecursiveComparison()
            .isEqualTo(features(memory));
        assertThat(rows.subList(0, 2)).usingRecursiveComparison().isEqualTo(features(first));
      }
    }
  }

  @Test
  void aValueThatIsRefusedHasItsPlace(@TempDir Path folder) {
    ParquetFiles files = ParquetFiles.of(Golden.file("plain.parquet"));
    TableColumns strict = TableColumns.of(TableTensor.features("x", NumberColumn.of("user.age")));
    String place = Golden.file("plain.parquet") + ", row group 0, row 7, column user.age: ";
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> files.read(strict))
        .withMessageStartingWith(place)
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.VALUE));
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> files.fit(strict))
        .withMessageStartingWith(place);
    FittedColumns other = TableRows.of(strict, List.of(Map.of("user.age", 1))).fit();
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> files.rows(other).withThreads(1).store(folder))
        .withMessageStartingWith(place);
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(
            () -> files.read(TableColumns.of(TableTensor.features("x", NumberColumn.of("list")))))
        .withMessageContaining("must have one value in a row, got lists of float");
  }

  @Test
  void imagesAreDecodedOnce(@TempDir Path folder) throws IOException {
    ImagePlan plan = ImagePlan.builder().resize(4, 4).build();
    ParquetFiles files = ParquetFiles.of(Golden.file("images.png.parquet"));

    ParquetStore store =
        files
            .rows(ParquetColumn.image("image", plan), ParquetColumn.of("label", DType.INT64))
            .store(folder);

    byte[] bytes = Files.readAllBytes(StoreNote.column(folder, 0));
    assertThat(store.columns().get(0).hasRowsOf(plan.row())).isTrue();
    for (int i = 0; i < 3 * 48; i++) {
      assertThat(bytes[bytes.length - 3 * 48 + i]).isEqualTo((byte) i);
    }
  }

  @Test
  void aFolderHasTheFilesInTheOrderOfTheirNames(@TempDir Path folder) throws IOException {
    Files.copy(Golden.file("plain.parquet"), folder.resolve("part-1.parquet"));
    Files.copy(Golden.file("images.png.parquet"), folder.resolve("part-0.parquet"));
    Files.writeString(folder.resolve("_SUCCESS"), "");
    Files.writeString(folder.resolve("_part-2.parquet"), "");
    Files.writeString(folder.resolve(".part-3.parquet"), "");

    ParquetFiles files = ParquetFiles.inFolder(folder);

    assertThat(files.size()).isEqualTo(3 + Golden.ROWS);
    assertThat(files.names()).containsExactly("label", "image");
    assertThat(files)
        .hasToString("33 rows in 2 files, the first is " + folder.resolve("part-0.parquet"));
  }
}
