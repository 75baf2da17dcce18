// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.data.source.FileDataset;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Parquet files in sources of bytes, one of them larger than 2 GB. */
class ParquetSourcesTest {
  private static final int WIDTH = 83_200_000;

  /** A source that is zeros but for some pieces; counts the bytes that are read. */
  private static final class Pieces implements ByteSource {
    private final long size;
    private final TreeMap<Long, byte[]> pieces = new TreeMap<>();
    private final AtomicLong bytesRead = new AtomicLong();
    private boolean isClosed;

    Pieces(long size) {
      this.size = size;
    }

    static Pieces far() throws IOException {
      List<String> lines = Files.readAllLines(Golden.file("far.txt"));
      Pieces far = new Pieces(Long.parseLong(lines.get(0)));
      for (String line : lines.subList(1, lines.size())) {
        int space = line.indexOf(' ');
        far.pieces.put(
            Long.parseLong(line.substring(0, space)),
            HexFormat.of().parseHex(line.substring(space + 1)));
      }
      return far;
    }

    static Pieces of(Path file) throws IOException {
      Pieces all = new Pieces(Files.size(file));
      all.pieces.put(0L, Files.readAllBytes(file));
      return all;
    }

    @Override
    public String name() {
      return "bucket/far.parquet";
    }

    @Override
    public long size() {
      return size;
    }

    @Override
    public int read(long offset, ByteBuffer into) {
      if (offset >= size) {
        return -1;
      }
      int count = (int) Math.min(into.remaining(), size - offset);
      byte[] bytes = new byte[count];
      Map.Entry<Long, byte[]> first = pieces.floorEntry(offset);
      long from = first == null ? offset : first.getKey();
      pieces
          .subMap(from, offset + count)
          .forEach(
              (start, piece) -> {
                int begin = (int) Math.max(0, offset - start);
                int end = (int) Math.min(piece.length, offset + count - start);
                if (begin < end) {
                  int at = (int) (start + begin - offset);
                  System.arraycopy(piece, begin, bytes, at, end - begin);
                }
              });
      into.put(bytes);
      bytesRead.addAndGet(count);
      return count;
    }

    @Override
    public void close() {
      isClosed = true;
    }
  }

  @Test
  void offsetsBeyondTwoGigabytesAreReadAndColumnsThatAreNotNamedAreNot(@TempDir Path folder)
      throws IOException {
    Pieces far = Pieces.far();
    assertThat(far.size()).isGreaterThan(1L << 31);
    ParquetFiles files = ParquetFiles.of(List.of(far));

    ParquetStore store = files.rows(ParquetColumn.of("n", DType.INT64)).store(folder);

    assertThat(files.names()).containsExactly("zeros", "n");
    ByteBuffer rows = ByteBuffer.wrap(Files.readAllBytes(StoreNote.column(folder, 0)));
    rows.position(rows.capacity() - 30 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (long i = 0; i < 30; i++) {
      assertThat(rows.getLong()).isEqualTo(i);
    }
    assertThat(store.size()).isEqualTo(30);
    assertThat(far.bytesRead.get()).isLessThan(WIDTH / 10);
    assertThat(far.isClosed).isFalse();
  }

  @Test
  void aSourceHasTheRowsAndDigestOfTheFile(@TempDir Path folder, @TempDir Path other)
      throws IOException {
    Path file = Golden.file("zstd_v2.parquet");
    ParquetColumn list = ParquetColumn.of("list", DType.FLOAT32, 3);

    ParquetStore ofSource = ParquetFiles.of(List.of(Pieces.of(file))).rows(list).store(folder);

    assertThat(ofSource.digest()).isEqualTo(ParquetFiles.of(file).rows(list).store(other).digest());
    try (FileDataset data = ofSource.dataset()) {
      assertThat(data.size()).isEqualTo(Golden.ROWS);
    }
  }

  @Test
  void aVersionSparesTheFooterAfterEachRowGroup(@TempDir Path folder, @TempDir Path other) {
    CountedSource versioned = CountedSource.of(Golden.file("zstd_v2.parquet"), "1");
    CountedSource nameless = CountedSource.of(Golden.file("zstd_v2.parquet"), "");
    ParquetColumn list = ParquetColumn.of("list", DType.FLOAT32, 3);
    ParquetRows first = ParquetFiles.of(List.of(versioned)).rows(list).withThreads(1);
    ParquetRows second = ParquetFiles.of(List.of(nameless)).rows(list).withThreads(1);
    versioned.forget();
    nameless.forget();

    first.store(folder);
    second.store(other);

    assertThat(versioned.footersRead()).isOne();
    assertThat(nameless.footersRead()).isEqualTo(1 + 1 + Golden.GROUPS);
  }

  @Test
  void aSourceThatFailsIsNamed(@TempDir Path folder) throws IOException {
    Pieces far = Pieces.far();
    ParquetRows rows = ParquetFiles.of(List.of(far)).rows(ParquetColumn.of("n", DType.INT64));
    ByteSource broken =
        new ByteSource() {
          @Override
          public String name() {
            return "bucket/broken.parquet";
          }

          @Override
          public long size() {
            return far.size();
          }

          @Override
          public int read(long offset, ByteBuffer into) throws IOException {
            if (offset > 1L << 31 && offset < far.size() - 800) {
              throw new IOException("the line is cut");
            }
            return far.read(offset, into);
          }

          @Override
          public void close() {}
        };
    assertThat(rows.size()).isEqualTo(30);

    assertThatExceptionOfType(ParquetException.class)
        .isThrownBy(
            () ->
                ParquetFiles.of(List.of(broken))
                    .rows(ParquetColumn.of("n", DType.INT64))
                    .store(folder))
        .withMessageContaining("bucket/broken.parquet")
        .withMessageContaining("the line is cut")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.FILE));
  }
}
