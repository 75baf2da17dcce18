// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CachedSourceTest {
  private static final int SIZE = 10_500;
  private static final int BLOCK = 1000;
  private static final byte[] ALL = HttpSourceTest.bytes(SIZE, 1);
  private static final long ROOM = 1 << 20;

  private final Path outputs;
  private final Path folder;
  private final FaultServer server = new FaultServer(ALL);

  CachedSourceTest(@TempDir Path folder) throws IOException {
    outputs = folder;
    this.folder = folder.resolve("cache");
    server.headers.put("ETag", "\"one\"");
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  private CachedSource open(long bytes) {
    return CachedSource.of(HttpSource.of(server.uri("/a")), folder, bytes, BLOCK);
  }

  private List<Path> blocks() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(".block")).sorted().toList();
    }
  }

  @Test
  void eachBlockIsRequestedOnce() throws IOException {
    for (int epoch = 0; epoch < 2; epoch++) {
      try (CachedSource source = open(ROOM)) {
        assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
        assertThat(HttpSourceTest.read(source, 2345, 5000))
            .isEqualTo(Arrays.copyOfRange(ALL, 2345, 7345));
        assertThat(source.read(SIZE, ByteBuffer.allocate(1))).isEqualTo(-1);
        assertThat(source.size()).isEqualTo(SIZE);
        assertThat(source.version()).isEqualTo("\"one\"");
      }
      assertThat(server.requests).hasSize(1 + 11 + epoch); // and one of each source for the version
    }
    assertThat(blocks()).hasSize(11);
  }

  @Test
  void theFolderStaysWithinItsLimit() throws IOException {
    long limit = 3 * (BLOCK + 8) + 7;
    try (CachedSource source = open(limit)) {
      for (int i = 0; i < SIZE; i += 10) {
        assertThat(HttpSourceTest.read(source, i, 10))
            .isEqualTo(Arrays.copyOfRange(ALL, i, i + 10));
        assertThat(blocks()).hasSizeLessThanOrEqualTo(3);
      }
    }
    assertThat(server.requests).hasSize(12);
    assertThat(blocks()).hasSize(3);
    server.requests.clear();
    try (CachedSource source = open(limit)) { // the newest are kept
      assertThat(HttpSourceTest.read(source, 10_000, 500)).hasSize(500);
      assertThat(HttpSourceTest.read(source, 8000, 2000)).hasSize(2000);
    }
    assertThat(server.requests).hasSize(1);
  }

  @Test
  void aDamagedBlockIsRequestedAgain() throws IOException {
    try (CachedSource source = open(ROOM)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
    }
    List<Path> blocks = blocks();
    byte[] damaged = Files.readAllBytes(blocks.get(0));
    damaged[BLOCK / 2] ^= 1;
    Files.write(blocks.get(0), damaged);
    Files.write(blocks.get(1), new byte[5]);
    Files.copy(blocks.get(4), blocks.get(3), StandardCopyOption.REPLACE_EXISTING);
    server.requests.clear();
    try (CachedSource source = open(ROOM)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
    }
    assertThat(server.requests).hasSize(4);
  }

  @Test
  void aChangedObjectIsNotReadFromOldBlocks() throws IOException {
    try (CachedSource source = open(ROOM)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
    }
    server.headers.put("ETag", "\"two\"");
    server.content = HttpSourceTest.bytes(SIZE, 7);
    try (CachedSource source = open(ROOM)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(HttpSourceTest.bytes(SIZE, 7));
    }
  }

  /** A file stands where the folder would be; another test limits the size. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void withoutAUsableFolderBlocksAreReadThrough(boolean isFile) throws IOException {
    if (isFile) {
      Files.writeString(folder, "a file");
    }
    try (CachedSource source = open(isFile ? ROOM : BLOCK)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
    }
    assertThat(server.requests).hasSize(isFile ? 23 : 22);
  }

  @Test
  void aFailureOfTheSourceIsItsOwn() throws IOException {
    try (CachedSource source = open(ROOM)) {
      assertThat(source.read(0, ByteBuffer.allocate(1))).isEqualTo(1);
      server.faults.add(FaultServer.status(403, Map.of()));
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> HttpSourceTest.read(source, 3000, 9))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DENIED));
      assertThat(HttpSourceTest.read(source, 3000, 9)).hasSize(9);
      source.close();
      assertThatExceptionOfType(ClosedChannelException.class)
          .isThrownBy(() -> source.read(0, ByteBuffer.allocate(1)));
    }
  }

  @Test
  void threadsRequestABlockOnce() throws Exception {
    ExecutorService readers = Executors.newFixedThreadPool(6);
    try (CachedSource source = open(ROOM)) {
      List<Future<byte[]>> all = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        all.add(readers.submit(() -> HttpSourceTest.read(source, 0, SIZE)));
      }
      for (Future<byte[]> each : all) {
        assertThat(each.get()).isEqualTo(ALL);
      }
      assertThat(server.requests.stream().map(each -> each.header("Range")))
          .filteredOn(range -> !String.valueOf(range).equals("bytes=0-0"))
          .doesNotHaveDuplicates();
    } finally {
      readers.shutdownNow();
    }
  }

  /** Reads an object through a folder that other processes use. */
  static final class Reader {
    public static void main(String[] arguments) throws IOException {
      try (CachedSource source =
          CachedSource.of(
              HttpSource.of(URI.create(arguments[0])), Path.of(arguments[1]), ROOM, BLOCK)) {
        System.exit(Arrays.equals(HttpSourceTest.read(source, 0, SIZE), ALL) ? 0 : 1);
      }
    }
  }

  @Test
  void processesRequestABlockOnce() throws Exception {
    List<TestJvm> readers = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        readers.add(
            TestJvm.start(
                outputs,
                Map.of(),
                List.of(),
                Reader.class.getName(),
                server.uri("/a").toString(),
                folder.toString()));
      }
      for (TestJvm each : readers) {
        assertThat(each.exitCode()).as("%s", each.output()).isZero();
      }
    } finally {
      readers.forEach(TestJvm::close);
    }
    assertThat(server.requests).hasSize(3 + 11);
  }

  @Test
  void wrongNumbersAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open(0))
        .withMessage("bytes must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CachedSource.of(HttpSource.of(server.uri("/a")), folder, 1, 0))
        .withMessage("blockBytes must be in [1, 1073741824], got 0");
  }
}
