// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.ReadAhead;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.security.AccessControlException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests with Hadoop's local file system; {@code HdfsSourceTest} has HDFS. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HadoopSourceTest {
  private static final int SIZE = 300_000;

  private final Path file;
  private final Configuration hadoop = new Configuration();

  HadoopSourceTest(@TempDir Path folder) throws IOException {
    file = Files.write(folder.resolve("train.csv"), bytes(SIZE, 1));
    hadoop.setClass("fs.file.impl", FaultyFiles.class, RawLocalFileSystem.class);
    hadoop.setBoolean("fs.file.impl.disable.cache", true);
    FaultyFiles.FAULT.set(null);
  }

  static byte[] bytes(int size, int seed) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 * seed + i / 251);
    }
    return bytes;
  }

  static byte[] read(ByteSource source, long offset, int count) throws IOException {
    byte[] bytes = new byte[count];
    source.readFully(offset, ByteBuffer.wrap(bytes));
    return bytes;
  }

  /** A file system that may fail. */
  public static final class FaultyFiles extends RawLocalFileSystem {
    static final AtomicReference<@Nullable IOException> FAULT = new AtomicReference<>();

    @Override
    public FSDataInputStream open(org.apache.hadoop.fs.Path path, int bytes) throws IOException {
      IOException thrown = FAULT.getAndSet(null);
      if (thrown != null) {
        throw thrown;
      }
      return super.open(path, bytes);
    }
  }

  private HadoopSource source() {
    return HadoopSource.of(file.toUri().toString(), hadoop);
  }

  @Test
  void bytesFromAnyPositionAreThoseOfTheFile() throws IOException {
    byte[] all = bytes(SIZE, 1);
    try (HadoopSource source = source()) {
      assertThat(source.name()).isEqualTo(file.toString());
      assertThat(source.toString()).isEqualTo("HadoopSource[" + file + "]");
      assertThat(read(source, 1234, 70_000)).isEqualTo(Arrays.copyOfRange(all, 1234, 71_234));
      assertThat(read(source, 3, 9)).isEqualTo(Arrays.copyOfRange(all, 3, 12));
      assertThat(source.size()).isEqualTo(SIZE);
      ByteBuffer more = ByteBuffer.allocateDirect(100).position(10);
      assertThat(source.read(SIZE - 5, more)).isEqualTo(5);
      assertThat(more.position()).isEqualTo(15);
      assertThat(more.get(14)).isEqualTo(all[SIZE - 1]);
      assertThat(source.read(SIZE, more)).isEqualTo(-1);
      assertThat(source.version())
          .isEqualTo("modified " + Files.getLastModifiedTime(file).toMillis());
      assertThatIllegalArgumentException().isThrownBy(() -> source.read(-1, more));
    }
  }

  @Test
  void linesAreReadByRanksAndCopiesByFiles(@TempDir Path folder) throws IOException {
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      expected.add("row," + i);
    }
    Files.writeString(file, String.join("\n", expected) + "\n");
    List<String> lines = new ArrayList<>();
    try (ByteSource source = ReadAhead.of(source(), 10_000, 4)) {
      TextPartition plan = TextPartition.of(List.of(source), 2);
      for (int rank = 0; rank < 2; rank++) {
        try (LineCursor cursor = plan.open(rank)) {
          while (cursor.next()) {
            lines.add(cursor.text());
          }
        }
      }
    }
    assertThat(lines).isEqualTo(expected);
    try (CachedFiles files = CachedFiles.of(folder.resolve("cache"), 1 << 20)) {
      Path copy = files.path(source());
      assertThat(copy).hasBinaryContent(Files.readAllBytes(file)).hasFileName("train.csv");
      assertThat(files.path(source())).isEqualTo(copy);
    }
  }

  @Test
  void threadsReadAtTheSameTime() throws Exception {
    byte[] all = bytes(SIZE, 1);
    ExecutorService readers = Executors.newFixedThreadPool(4);
    try (HadoopSource source = source()) {
      List<Future<byte[]>> parts = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        int at = i * 1000;
        parts.add(readers.submit(() -> read(source, at, 5000)));
      }
      for (int i = 0; i < parts.size(); i++) {
        assertThat(parts.get(i).get())
            .isEqualTo(Arrays.copyOfRange(all, i * 1000, i * 1000 + 5000));
      }
    } finally {
      readers.shutdownNow();
    }
  }

  /** A change of a file between two reads. */
  private enum Change {
    LONGER("its length was 300000 and is now 300001"),
    SHORTER("its length was 300000 and is now 7"),
    LATER("its time of modification is another one"),
    DELETED("it was deleted");

    private final String message;

    Change(String message) {
      this.message = message;
    }

    void make(Path file) throws IOException {
      FileTime then = Files.getLastModifiedTime(file);
      switch (this) {
        case LONGER -> Files.write(file, bytes(SIZE + 1, 3));
        case SHORTER -> Files.write(file, bytes(7, 3));
        case LATER -> {
          Files.write(file, bytes(SIZE, 3));
          Files.setLastModifiedTime(file, FileTime.fromMillis(then.toMillis() + 1));
          return;
        }
        case DELETED -> {
          Files.delete(file);
          return;
        }
      }
      Files.setLastModifiedTime(file, then); // as in a copy that keeps times
    }
  }

  @ParameterizedTest
  @EnumSource(Change.class)
  void bytesOfAChangedFileAreNotMixed(Change change) throws IOException {
    try (HadoopSource source = source()) {
      assertThat(read(source, 0, 100)).isEqualTo(bytes(100, 1));
      change.make(file);
      ByteBuffer into = ByteBuffer.allocate(100);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(100, into))
          .withMessageStartingWith(
              "%s cannot be read at byte 100: the file has changed".formatted(file))
          .withMessageContaining(change.message)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
      assertThat(into.array()).containsOnly(0);
    }
  }

  @Test
  void failuresAreNamed() throws IOException {
    try (HadoopSource source = source()) {
      assertThat(source.size()).isEqualTo(SIZE);
      FaultyFiles.FAULT.set(new IOException("a block is lost"));
      failsWith(source, Problem.UNREADABLE, "a block is lost");
      assertThat(read(source, 0, 9)).isEqualTo(bytes(9, 1));
    }
    try (HadoopSource source = source()) {
      FaultyFiles.FAULT.set(new AccessControlException("not for you"));
      failsWith(source, Problem.DENIED, "not for you");
    }
    try (HadoopSource source = HadoopSource.of(file + ".old", hadoop)) {
      failsWith(source, Problem.MISSING, "train.csv.old");
    }
    try (HadoopSource source = HadoopSource.of(file.resolveSibling(".").toString(), hadoop)) {
      failsWith(source, Problem.UNREADABLE, "it must be a regular file, got a folder");
    }
    assertThatIllegalArgumentException().isThrownBy(() -> HadoopSource.of("", hadoop));
  }

  private static void failsWith(ByteSource source, Problem problem, String message) {
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> read(source, 0, 9))
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem));
  }

  @Test
  void aPasswordIsInNoName() {
    HadoopSource source = HadoopSource.of("s3a://key:s3cr3t@rows/a.csv", hadoop);
    assertThat(source.name()).isEqualTo("rows/a.csv");
    assertThat(HadoopSource.of("abfs://rows@me.net/a b.csv", hadoop).name())
        .isEqualTo("rows@me.net/a b.csv");
  }

  @Test
  void aClosedSourceIsNotRead() throws IOException {
    HadoopSource source = source();
    assertThat(read(source, 0, 1)).isEqualTo(bytes(1, 1));
    source.close();
    source.close();
    assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(source::size);
    assertThatExceptionOfType(ClosedChannelException.class)
        .isThrownBy(() -> source.read(0, ByteBuffer.allocate(1)));
  }
}
