// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.parquet.Golden.Expected;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares stored rows with the values of pyarrow, byte by byte. */
class ParquetValuesTest {
  static List<Path> files() {
    return Golden.files();
  }

  @ParameterizedTest
  @MethodSource("files")
  void allCodecsEncodingsAndTypesHaveTheValuesOfPyarrow(Path file, @TempDir Path folder)
      throws IOException {
    List<Expected> columns = Golden.columns();

    ParquetStore store =
        ParquetFiles.of(file)
            .rows(columns.stream().map(Expected::column).toArray(ParquetColumn[]::new))
            .store(folder);

    assertThat(store.size()).isEqualTo(Golden.ROWS);
    for (int i = 0; i < columns.size(); i++) {
      assertThat(stored(store, folder, i))
          .as("%s of %s", columns.get(i).column(), file)
          .isEqualTo(columns.get(i).bytes());
    }
  }

  private static String stored(ParquetStore store, Path folder, int column) throws IOException {
    byte[] bytes = Files.readAllBytes(StoreNote.column(folder, column));
    int rows = Math.toIntExact(store.size() * store.columns().get(column).bytes());
    return HexFormat.of().formatHex(Arrays.copyOfRange(bytes, bytes.length - rows, bytes.length));
  }

  @Test
  void severalFilesFollowEachOther(@TempDir Path folder) throws IOException {
    Path[] all = Golden.files().toArray(Path[]::new);
    Expected list = Golden.columns().stream().filter(Golden::isList).findFirst().orElseThrow();
    ParquetFiles files = ParquetFiles.of(all[0], Arrays.copyOfRange(all, 1, all.length));

    ParquetStore store = files.rows(list.column()).store(folder);

    assertThat(files.size()).isEqualTo((long) Golden.ROWS * all.length);
    assertThat(stored(store, folder, 0)).isEqualTo(list.bytes().repeat(all.length));
  }
}
