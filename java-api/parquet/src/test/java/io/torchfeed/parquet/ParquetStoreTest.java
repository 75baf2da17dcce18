// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stored rows: complete or not there, whatever happens, and the same for everyone. */
class ParquetStoreTest {
  private static final ParquetColumn NUMBER = ParquetColumn.of("dot.ted", DType.INT64);
  private static final ParquetColumn LIST = ParquetColumn.of("list", DType.FLOAT32, 3);

  private static ParquetRows rows() {
    Path[] files = Golden.files().toArray(Path[]::new);
    return ParquetFiles.of(files[0], files[1], files[2]).rows(NUMBER, LIST);
  }

  private static List<String> files(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      return files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
  }

  @Test
  void aLoaderReadsThemInAnyOrder(@TempDir Path folder) {
    try (FileDataset data = rows().store(folder).dataset();
        DataLoader loader =
            DataLoader.over(data)
                .batchSize(8)
                .sampler(ShuffledSampler.of(data.size(), Part.whole(), 5))
                .build();
        Batches batches = loader.epoch(0)) {
      List<Long> seen = new ArrayList<>();
      for (Batch batch : batches) {
        assertThat(batch.tensor("list").sizes().vec().get()).containsExactly(batch.size(), 3);
        for (int i = 0; i < batch.size(); i++) {
          seen.add(batch.tensor("dot.ted").data_ptr_long().get(i));
        }
      }
      List<Long> sorted = new ArrayList<>(seen);
      Collections.sort(sorted);
      assertThat(seen).isNotEqualTo(sorted);
      assertThat(sorted)
          .isEqualTo(IntStream.range(0, 3 * Golden.ROWS).mapToObj(i -> (long) (i / 3)).toList());
    }
  }

  @Test
  void theFolderHasFilesOfNumPyAndANote(@TempDir Path folder) throws IOException {
    ParquetStore store = rows().store(folder);

    assertThat(files(folder)).containsExactly("column-0.npy", "column-1.npy", "rows.properties");
    FileColumn list = FileColumn.npy(folder.resolve("column-1.npy"));
    assertThat(list.rows()).isEqualTo(store.size()).isEqualTo(3L * Golden.ROWS);
    assertThat(list.row().hasRowsOf(LIST.row())).isTrue();
    assertThat(ParquetStore.open(folder).digest()).isEqualTo(store.digest());
    store.verify();
  }

  @Test
  void aSecondCallReadsNoRow(@TempDir Path folder) {
    List<ParquetProgress> seen = new ArrayList<>();
    ParquetStore first = rows().withProgress(seen::add).store(folder);
    int groups = 3 * Golden.GROUPS;
    assertThat(seen).hasSize(groups);
    assertThat(seen.get(groups - 1))
        .isEqualTo(new ParquetProgress(groups, groups, first.size(), first.size()));

    ParquetStore second = rows().withProgress(seen::add).store(folder);

    assertThat(seen).hasSize(groups);
    assertThat(second.digest()).isEqualTo(first.digest());
  }

  @Test
  void rowsOfEqualShapeWithOtherValuesHaveAnotherDigest(@TempDir Path folder, @TempDir Path other) {
    ParquetColumn gaps = ParquetColumn.of("gaps", DType.INT32);
    ParquetFiles files = ParquetFiles.of(Golden.file("plain.parquet"));

    ParquetStore first = files.rows(gaps.withMissingValue(-1)).store(folder);
    ParquetStore second = files.rows(gaps.withMissingValue(-2)).store(other);

    assertThat(first.columns()).isEqualTo(second.columns());
    assertThat(first.digest()).isNotEqualTo(second.digest());
  }

  @Test
  void anInterruptedOneContinuesWithTheGroupsThatAreMissing(
      @TempDir Path folder, @TempDir Path other) throws IOException {
    ParquetRows stopped =
        rows()
            .withThreads(1)
            .withProgress(
                done -> {
                  if (done.groups() == 4) {
                    throw new IllegalStateException("stopped");
                  }
                });
    assertThatThrownBy(() -> stopped.store(folder)).hasMessage("stopped");
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetStore.open(folder))
        .withMessage(folder + " has no stored rows, or storing them was interrupted");
    List<ParquetProgress> seen = new ArrayList<>();

    ParquetStore store = rows().withProgress(seen::add).store(folder);

    assertThat(seen).hasSize(3 * Golden.GROUPS - 4);
    assertThat(seen.get(0).groups()).isEqualTo(5);
    assertThat(store.digest()).isEqualTo(rows().store(other).digest());
    store.verify();
    for (int i = 0; i < 2; i++) {
      assertThat(StoreNote.column(folder, i)).hasSameBinaryContentAs(StoreNote.column(other, i));
    }
    assertThat(files(folder)).isEqualTo(files(other));
  }

  @Test
  void afterAStartOfTheMachineMarksAreTrustedIfTheirRowsAreThere(@TempDir Path folder)
      throws IOException {
    ParquetRows stopped =
        rows()
            .withThreads(1)
            .withProgress(
                done -> {
                  if (done.groups() == 3) {
                    throw new IllegalStateException("stopped");
                  }
                });
    assertThatThrownBy(() -> stopped.store(folder)).hasMessage("stopped");
    for (int i = 0; i < 3; i++) {
      Path mark = folder.resolve("building").resolve("group-" + i);
      String hash = Files.readString(mark).split(" ", -1)[0];
      Files.writeString(mark, hash + " another-start");
    }
    byte[] column = Files.readAllBytes(StoreNote.column(folder, 0));
    column[128 + 13 * Long.BYTES] ^= 1; // in the second group
    Files.write(StoreNote.column(folder, 0), column);
    List<ParquetProgress> seen = new ArrayList<>();

    ParquetStore store = rows().withProgress(seen::add).store(folder);

    assertThat(seen).hasSize(3 * Golden.GROUPS - 2);
    store.verify();
  }

  @Test
  void severalAtOnceDivideTheGroups(@TempDir Path folder) throws Exception {
    List<ParquetProgress> seen = Collections.synchronizedList(new ArrayList<>());
    Callable<String> store = () -> rows().withProgress(seen::add).store(folder).digest();
    List<String> digests = new ArrayList<>();
    try (ExecutorService ranks = Executors.newFixedThreadPool(4)) {
      for (Future<String> digest : ranks.invokeAll(Collections.nCopies(4, store))) {
        digests.add(digest.get());
      }
    }

    assertThat(digests).containsOnly(ParquetStore.open(folder).digest());
    ParquetStore.open(folder).verify();
    assertThat(files(folder)).containsExactly("column-0.npy", "column-1.npy", "rows.properties");
  }

  @Test
  void groupsOfAProcessThatStandsStillAreTakenOver(@TempDir Path folder) throws Exception {
    Files.createDirectories(folder.resolve("building"));
    try (Claims other = Claims.open(folder.resolve("building").resolve("claims"));
        var claim = other.claim(1)) {
      assertThat(claim).isNotNull();

      ParquetStore store = rows().withPatienceNanos(1_000_000).store(folder);

      store.verify();
    }
  }

  @Test
  void otherRowsAreRefused(@TempDir Path folder, @TempDir Path own) throws IOException {
    rows().store(folder);
    Path[] all = Golden.files().toArray(Path[]::new);
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetFiles.of(all[0], all[1], all[3]).rows(NUMBER, LIST).store(folder))
        .withMessageStartingWith(folder + " has other rows: of file " + all[2].getFileName())
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.OTHER_ROWS));
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetFiles.of(all[0]).rows(NUMBER.withMissingValue(3)).store(folder))
        .withMessageContaining("of column dot.ted = dot.ted: int64 [], not of column");
    Files.writeString(own.resolve("mine.txt"), "");
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> rows().store(own))
        .withMessage(
            own + " must be a new or empty folder, or have stored rows, got one with mine.txt");
    assertThat(files(own)).containsExactly("mine.txt");
  }

  @Test
  void aChangedFileIsRefusedBeforeAndWhileItIsRead(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("data.parquet");
    Files.copy(Golden.file("plain.parquet"), file);
    ParquetRows rows = ParquetFiles.of(file).rows(NUMBER);
    Files.copy(Golden.file("none_v1.parquet"), file, StandardCopyOption.REPLACE_EXISTING);

    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> rows.store(folder.resolve("rows")))
        .withMessage(file + " has changed since its footer was read; read it again")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
    assertThat(folder.resolve("rows").resolve("rows.properties")).doesNotExist();
  }

  /** Its footer and size are equal: only a value in a page is another one. */
  @Test
  void aFileWithOtherPagesIsAnotherOne(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("data.parquet");
    Files.copy(Golden.file("none_v1.parquet"), file);
    ParquetRows before = ParquetFiles.of(file).rows(NUMBER);
    Path rows = folder.resolve("rows");
    before.store(rows);
    byte[] bytes = Files.readAllBytes(file);
    bytes[100] ^= 1;
    FileTime time = Files.getLastModifiedTime(file);
    Files.write(file, bytes);
    Files.setLastModifiedTime(file, FileTime.from(time.toInstant().plusSeconds(1)));

    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> before.store(folder.resolve("others")))
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetFiles.of(file).rows(NUMBER).store(rows))
        .withMessageStartingWith(rows + " has other rows")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.OTHER_ROWS));
  }

  @Test
  void damagedFilesAreNoticed(@TempDir Path folder) throws IOException {
    ParquetStore store = rows().store(folder);
    Path column = StoreNote.column(folder, 1);
    byte[] bytes = Files.readAllBytes(column);
    bytes[bytes.length - 1] ^= 1;
    Files.write(column, bytes);
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(store::verify)
        .withMessageContaining("rows 86 to 89 have changed since they were stored");
    Files.write(column, new byte[7]);
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetStore.open(folder))
        .withMessageContaining("column-1.npy must have 1208 bytes, got 7");
    Path note = folder.resolve("rows.properties");
    Files.writeString(note, Files.readString(note).replace("rows=90", "rows=91"));
    Files.write(column, bytes);
    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(() -> ParquetStore.open(folder))
        .withMessageContaining("is damaged, or of another version");
  }

  @Test
  void aFullDiskIsNamed() throws IOException {
    try (var full = FileChannel.open(Path.of("/dev/full"), StandardOpenOption.WRITE)) {
      assertThatThrownBy(() -> StoreFolder.write(full, ByteBuffer.allocate(9), 0))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("No space left on device");
    }
  }
}
