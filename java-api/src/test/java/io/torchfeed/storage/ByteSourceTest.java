// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ByteSourceTest {
  private final Path folder;

  ByteSourceTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static byte[] bytes(int size) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 + i / 251);
    }
    return bytes;
  }

  @ParameterizedTest
  @CsvSource({"0, 5", "1, 5", "1000, 7", "2500000, 1000000"})
  void aCopyHasAllBytes(int size, int most) throws IOException {
    MemorySource source = new MemorySource("store/a", bytes(size));
    source.most = most;
    Path file = Files.writeString(folder.resolve("a"), "an earlier one");
    source.copyTo(file);
    assertThat(file).hasBinaryContent(bytes(size));
  }

  @Test
  void aCopyThatFailsLeavesNothing() throws IOException {
    MemorySource source = new MemorySource("store/a", bytes(1000));
    source.most = 100;
    source.failsAt = 450;
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> source.copyTo(folder.resolve("a")))
        .withMessage("store/a cannot be read at byte 400: no route to the store")
        .satisfies(e -> assertThat(e.name()).isEqualTo("store/a"))
        .satisfies(e -> assertThat(e.offset()).isEqualTo(400));
    assertThat(folder).isEmptyDirectory();
    source.failsAt = Long.MAX_VALUE;
    source.size = 1001;
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> source.copyTo(folder.resolve("a")))
        .withMessage("store/a cannot be read at byte 1000: it ends here");
    assertThat(folder).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -2, 2})
  void aWrongCountIsRefused(int count) {
    ByteSource source =
        new ByteSource() {
          @Override
          public String name() {
            return "wrong";
          }

          @Override
          public long size() {
            return 9;
          }

          @Override
          public int read(long offset, ByteBuffer into) {
            if (count > 0) {
              into.put((byte) 0);
            }
            return count;
          }

          @Override
          public void close() {}
        };
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> source.readFully(3, ByteBuffer.allocate(4)))
        .withMessageStartingWith("wrong cannot be read at byte 3: read must return by how much")
        .withMessageEndingWith("got %d and %d", count, count > 0 ? 1 : 0);
  }

  /** A source whose methods are given by a test. */
  private record Odd(LongSupplier bytes, ToIntFunction<ByteBuffer> reading) implements ByteSource {
    @Override
    public String name() {
      return "odd";
    }

    @Override
    public long size() {
      return bytes.getAsLong();
    }

    @Override
    public int read(long offset, ByteBuffer into) {
      return reading.applyAsInt(into);
    }

    @Override
    public void close() {}
  }

  @Test
  void allSourcesRefuseTheSameReads(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "abc");
    List<ByteSource> sources =
        List.of(
            ByteSource.file(file),
            HttpSource.of(URI.create("http://127.0.0.1:1/a")),
            ReadAhead.of(ByteSource.file(file)),
            CachedSource.of(ByteSource.file(file), folder.resolve("cache"), 1 << 20));
    for (ByteSource source : sources) {
      try (source) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> source.read(-1, ByteBuffer.allocate(1)))
            .withMessage("offset must be at least 0, got -1");
        assertThatIllegalArgumentException()
            .isThrownBy(() -> source.read(0, ByteBuffer.allocate(0)))
            .withMessage("into must have room for at least one byte, got none");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 5})
  void aMovedLimitIsRefused(int limit) {
    ByteSource source =
        new Odd(
            () -> 9,
            into -> {
              int count = limit - into.position();
              into.limit(limit).put(new byte[count]);
              return count;
            });
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> source.readFully(0, ByteBuffer.allocate(8).limit(4)))
        .withMessage(
            "odd cannot be read at byte 0: read must leave the limit of the buffer at 4, got "
                + limit);
  }

  @Test
  void aSourceWithoutASizeReplacesNoFile() throws IOException {
    Path file = Files.writeString(folder.resolve("a"), "an earlier one");
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> new Odd(() -> -1, into -> -1).copyTo(file))
        .withMessage("odd cannot be read at byte 0: its size must be at least 0, got -1");
    LongSupplier broken =
        () -> {
          throw new IllegalStateException("no route to the store");
        };
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> new Odd(broken, into -> -1).copyTo(file))
        .withMessage("odd cannot be read at byte 0: no route to the store");
    assertThat(file).hasContent("an earlier one");
  }

  @Test
  void aFileIsReadFromAnyPosition() throws IOException {
    Path file = Files.write(folder.resolve("file"), bytes(100));
    try (ByteSource source = ByteSource.file(file)) {
      assertThat(source.name()).isEqualTo(file.toString());
      assertThat(source.size()).isEqualTo(100);
      ByteBuffer into = ByteBuffer.allocate(10);
      source.readFully(90, into);
      for (int i = 0; i < 10; i++) {
        assertThat(into.get(i)).isEqualTo(bytes(100)[90 + i]);
      }
      assertThat(source.read(100, into.clear())).isEqualTo(-1);
      source.copyTo(folder.resolve("copy"));
      assertThat(folder.resolve("copy")).hasSameBinaryContentAs(file);
    }
  }

  @Test
  void anInterruptStopsOneReaderOfAFile() throws Exception {
    try (ByteSource source = ByteSource.file(Files.write(folder.resolve("file"), bytes(9)))) {
      FutureTask<Integer> interrupted =
          new FutureTask<>(
              () -> {
                Thread.currentThread().interrupt();
                return source.read(0, ByteBuffer.allocate(4));
              });
      Thread thread = new Thread(interrupted);
      thread.start();
      thread.join();
      assertThat(interrupted)
          .failsWithin(Duration.ZERO)
          .withThrowableThat()
          .withCauseInstanceOf(ClosedByInterruptException.class);
      assertThat(source.read(0, ByteBuffer.allocate(4))).isEqualTo(4);
      source.close();
      source.close();
      assertThatExceptionOfType(ClosedChannelException.class)
          .isThrownBy(() -> source.read(0, ByteBuffer.allocate(4)));
    }
  }

  @Test
  void aMissingFileIsNamed() {
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> ByteSource.file(folder.resolve("none")))
        .withMessage(
            folder.resolve("none") + " cannot be read at byte 0: no such file or directory")
        .withCauseInstanceOf(NoSuchFileException.class);
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> ByteSource.file(folder))
        .withMessageEndingWith("it must be a regular file, got a directory");
  }
}
