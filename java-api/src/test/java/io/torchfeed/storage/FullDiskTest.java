// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Caches of processes whose files take 64 KiB and no more, which is a part of a block. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FullDiskTest {
  private static final int SIZE = 300_000;
  private static final int BLOCK = 100_000;
  private static final int PIECE = 10_000;
  private static final byte[] ALL = HttpSourceTest.bytes(SIZE, 1);
  private static final long ROOM = 1 << 24;

  private final Path outputs;
  private final Path folder;
  private final FaultServer server = new FaultServer(ALL);

  FullDiskTest(@TempDir Path folder) throws IOException {
    outputs = folder;
    this.folder = folder.resolve("cache");
    server.headers.put("ETag", "\"one\"");
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  private static CachedSource blocks(URI uri, Path folder) {
    return CachedSource.of(HttpSource.of(uri), folder, ROOM, BLOCK);
  }

  /** Reads all bytes twice, in small pieces, through blocks that cannot be written. */
  static final class Blocks {
    public static void main(String[] arguments) throws IOException {
      try (CachedSource source = blocks(URI.create(arguments[0]), Path.of(arguments[1]))) {
        for (int at = 0; at < 2 * SIZE; at += PIECE) {
          int from = at % SIZE;
          byte[] expected = Arrays.copyOfRange(ALL, from, from + PIECE);
          if (!Arrays.equals(HttpSourceTest.read(source, from, PIECE), expected)) {
            throw new IOException("other bytes");
          }
        }
      }
    }
  }

  /** Prints the failure of a copy that cannot be written. */
  static final class Copy {
    public static void main(String[] arguments) throws IOException {
      try (CachedFiles files = CachedFiles.of(Path.of(arguments[1]), ROOM)) {
        files.path(HttpSource.of(URI.create(arguments[0])));
      } catch (FileSystemException e) {
        System.out.println("failed: " + e.getMessage());
      }
    }
  }

  private List<String> run(Class<?> program) throws Exception {
    List<String> command = new ArrayList<>(TestJvm.after("ulimit -f 128")); // of 512 bytes
    command.addAll(
        TestJvm.command(
            List.of("-XX:-UsePerfData"),
            program.getName(),
            server.uri("/data/a").toString(),
            folder.toString()));
    try (TestJvm jvm = TestJvm.launch(outputs, Map.of(), command)) {
      assertThat(jvm.exitCode()).as("%s", jvm.output()).isZero();
      return jvm.output();
    }
  }

  private List<Path> left(String ending) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(file -> file.toString().matches(ending)).toList();
    }
  }

  @Test
  void blocksAreReadThroughAndNoneIsLeft() throws Exception {
    List<String> lines = run(Blocks.class);
    assertThat(lines)
        .filteredOn(line -> line.contains("/a are not kept, since the folder " + folder))
        .hasSize(1);
    assertThat(server.requests).hasSize(1 + 3 + 3); // the last block stays in memory
    assertThat(left(".*\\.(block|partial)")).isEmpty();
    server.requests.clear();
    for (int epoch = 0; epoch < 2; epoch++) {
      try (CachedSource source = blocks(server.uri("/data/a"), folder)) {
        assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(ALL);
      }
    }
    assertThat(server.requests).hasSize(1 + 3 + 1);
    assertThat(left(".*\\.block")).hasSize(3);
  }

  @Test
  void aFileIsCopiedAsAWholeOrNotAtAll() throws Exception {
    List<String> lines = run(Copy.class);
    assertThat(lines)
        .filteredOn(line -> line.startsWith("failed: " + folder))
        .singleElement()
        .asString()
        .contains("/a: its 300000 bytes cannot be written: ")
        .endsWith("; make room, or use another folder");
    assertThat(left(".*/a|.*partial.*|.*\\.note")).isEmpty();
    try (CachedFiles files = CachedFiles.of(folder, ROOM)) {
      assertThat(files.path(HttpSource.of(server.uri("/data/a")))).hasBinaryContent(ALL);
    }
  }
}
