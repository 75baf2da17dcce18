// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
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

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CachedFilesTest {
  private static final int SIZE = 30_000;
  private static final byte[] ALL = HttpSourceTest.bytes(SIZE, 1);
  private static final long ROOM = 1 << 20;

  private final Path outputs;
  private final Path folder;
  private final FaultServer server = new FaultServer(ALL);

  CachedFilesTest(@TempDir Path folder) throws IOException {
    outputs = folder;
    this.folder = folder.resolve("cache");
    server.headers.put("ETag", "\"one\"");
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  private CachedFiles open(long bytes) {
    return CachedFiles.of(folder, bytes);
  }

  private HttpSource source(String name) {
    return HttpSource.of(server.uri("/data/" + name + "?key=s3cr3t"));
  }

  private List<Path> kept() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(Files::isDirectory).sorted().toList();
    }
  }

  @Test
  void anObjectIsCopiedOnce() throws IOException {
    Path path;
    try (CachedFiles files = open(ROOM)) {
      path = files.path(source("train.npy"));
      assertThat(path).hasBinaryContent(ALL).hasFileName("train.npy");
      assertThat(server.requests).hasSize(2);
      assertThat(files.path(source("train.npy"))).isEqualTo(path);
      assertThat(files.toString()).isEqualTo("CachedFiles[" + folder + "]");
    }
    try (CachedFiles files = open(ROOM)) {
      assertThat(files.paths(List.of(source("train.npy"), source("b")))).first().isEqualTo(path);
    }
    assertThat(server.requests).hasSize(2 + 2 + 2); // one of each source for the version
  }

  @Test
  void eachVersionHasItsFile() throws IOException {
    try (CachedFiles files = open(ROOM)) {
      Path first = files.path(source("a"));
      server.headers.put("ETag", "\"two\"");
      server.content = HttpSourceTest.bytes(SIZE, 3);
      Path second = files.path(source("a"));
      assertThat(first).hasBinaryContent(ALL);
      assertThat(second).hasBinaryContent(HttpSourceTest.bytes(SIZE, 3));
    }
  }

  @Test
  void anObjectThatChangesDuringTheCopyLeavesNoFile() throws IOException {
    try (CachedFiles files = open(SIZE)) {
      HttpSource changing = source("a");
      assertThat(changing.size()).isEqualTo(SIZE);
      server.headers.put("ETag", "\"two\"");
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(changing))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
      assertThat(kept()).hasSize(1).allSatisfy(each -> assertThat(each).isEmptyDirectory());
      assertThat(files.path(source("a"))).hasBinaryContent(ALL);
      assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(changing::size);
    }
  }

  @Test
  void aCopyThatSomeoneHasWrittenIsReplaced() throws IOException {
    try (CachedFiles files = open(ROOM)) {
      Path path = files.path(source("a"));
      FileTime copied = Files.getLastModifiedTime(path);
      Files.write(path, new byte[SIZE]);
      Files.setLastModifiedTime(path, FileTime.fromMillis(copied.toMillis() + 1));
      assertThat(files.path(source("a"))).isEqualTo(path).hasBinaryContent(ALL);
      Files.write(path, new byte[5]);
      Files.setLastModifiedTime(path, copied);
      assertThat(files.path(source("a"))).isEqualTo(path).hasBinaryContent(ALL);
      Files.delete(path);
      assertThat(files.path(source("a"))).isEqualTo(path).hasBinaryContent(ALL);
      Path entry = path.resolveSibling(".").normalize();
      Files.write(path, new byte[SIZE]);
      Files.write(entry.resolveSibling(entry.getFileName() + ".note"), new byte[] {-1, 0});
      assertThat(files.path(source("a"))).isEqualTo(path).hasBinaryContent(ALL);
    }
  }

  /** A process was killed before the first file was complete, or before the last. */
  @Test
  void aCopyThatWasNotCompleteIsMadeAgain() throws IOException {
    Path path;
    try (CachedFiles files = open(ROOM)) {
      path = files.path(source("a"));
    }
    Path entry = path.resolveSibling(".").normalize();
    Files.delete(entry.resolveSibling(entry.getFileName() + ".note"));
    Files.write(path, new byte[SIZE]);
    Files.write(entry.resolve("a.partial-1"), new byte[7]);
    try (CachedFiles files = open(ROOM)) {
      assertThat(files.path(source("a"))).isEqualTo(path).hasBinaryContent(ALL);
    }
    try (Stream<Path> all = Files.list(entry)) {
      assertThat(all).containsExactly(path);
    }
  }

  @Test
  void theOldestFilesThatNobodyUsesAreDeleted() throws IOException {
    long limit = 3 * SIZE + 7;
    Path a;
    Path b;
    try (CachedFiles files = open(limit)) {
      a = files.path(source("a"));
      b = files.path(source("b"));
      files.path(source("c"));
      files.path(source("a")); // used later than the others
    }
    try (CachedFiles files = open(limit);
        CachedFiles others = open(limit)) {
      Path d = files.path(source("d"));
      assertThat(kept()).hasSize(3);
      assertThat(a).exists();
      assertThat(b).doesNotExist();
      others.path(source("a"));
      others.path(source("d"));
      files.close(); // others use d
      assertThat(others.path(source("e"))).exists();
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> others.path(source("f")))
          .withMessageContaining(
              "its 30000 bytes do not fit the limit of 90007 for %s, where files in use have 90000"
                  .formatted(folder));
      assertThat(d).exists();
      assertThat(a).exists();
    }
    try (CachedFiles files = open(limit)) {
      assertThat(files.path(source("f"))).exists();
      assertThat(kept()).hasSize(3);
    }
    try (CachedFiles files = open(SIZE - 1)) {
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(source("g")));
    }
  }

  @Test
  void threadsCopyAnObjectOnce() throws Exception {
    ExecutorService readers = Executors.newFixedThreadPool(6);
    try (CachedFiles files = open(ROOM)) {
      List<Future<Path>> all = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        all.add(readers.submit(() -> files.path(source("a"))));
      }
      for (Future<Path> each : all) {
        assertThat(each.get()).hasBinaryContent(ALL);
      }
    } finally {
      readers.shutdownNow();
    }
    assertThat(server.requests).hasSize(6 + 1);
  }

  /** Uses a file, and says so until its input ends. */
  static final class User {
    public static void main(String[] arguments) throws IOException {
      CachedFiles files = CachedFiles.of(Path.of(arguments[1]), ROOM);
      Path path = files.path(HttpSource.of(URI.create(arguments[0])));
      Files.copy(path, Path.of(arguments[2]));
      System.out.println("ready");
      if (arguments.length > 3) {
        while (Files.exists(Path.of(arguments[3]))) {
          Thread.onSpinWait();
        }
      }
      System.exit(0);
    }
  }

  private TestJvm user(String... more) throws IOException {
    List<String> program = new ArrayList<>(List.of(User.class.getName()));
    program.addAll(List.of(server.uri("/data/a").toString(), folder.toString()));
    program.addAll(List.of(more));
    return TestJvm.start(outputs, Map.of(), List.of(), program.toArray(String[]::new));
  }

  @Test
  void processesCopyAnObjectOnce() throws Exception {
    List<TestJvm> users = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        users.add(user(outputs.resolve("copy" + i).toString()));
      }
      for (TestJvm each : users) {
        assertThat(each.exitCode()).as("%s", each.output()).isZero();
      }
    } finally {
      users.forEach(TestJvm::close);
    }
    for (int i = 0; i < 3; i++) {
      assertThat(outputs.resolve("copy" + i)).hasBinaryContent(ALL);
    }
    assertThat(server.requests).hasSize(3 + 1);
  }

  @Test
  void aFileThatAnotherProcessUsesStays() throws Exception {
    Path copy = outputs.resolve("copy");
    Path stays = Files.createFile(outputs.resolve("stays"));
    try (TestJvm user = user(copy.toString(), stays.toString());
        CachedFiles files = open(SIZE)) {
      user.await(lines -> lines.contains("ready"));
      assertThat(copy).hasBinaryContent(ALL);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(source("b")))
          .withMessageContaining("where files in use have 30000");
      Files.delete(stays);
      assertThat(user.exitCode()).as("%s", user.output()).isZero();
      assertThat(files.path(source("b"))).exists();
      assertThat(kept()).hasSize(1);
    }
  }

  /** A source with another name, and the size that belongs to it. */
  private record Named(String name, HttpSource source) implements ByteSource {
    @Override
    public long size() throws IOException {
      if (name.equals("broken")) {
        throw new IOException("no size today");
      }
      return name.equals("negative") ? -1 : SIZE;
    }

    @Override
    public int read(long offset, ByteBuffer into) throws IOException {
      return source.read(offset, into);
    }

    @Override
    public void close() {
      source.close();
    }
  }

  @Test
  void aFolderHasTheNamesOfItsSources() throws IOException {
    server.others.put("/data/cat/1.jpg", new byte[] {1});
    server.others.put("/data/dog/../dog/2.jpg", new byte[] {2});
    List<ByteSource> sources = new ArrayList<>();
    try (CachedFiles files = open(ROOM)) {
      for (String name : List.of("cat/1.jpg", "dog/../dog/2.jpg", "train.bin")) {
        sources.add(HttpSource.of(server.uri("/data/" + name)));
      }
      Path root = files.folder(sources);
      assertThat(root.resolve("cat/1.jpg")).hasBinaryContent(new byte[] {1});
      assertThat(root.resolve("dog/2.jpg")).hasBinaryContent(new byte[] {2});
      assertThat(root.resolve("train.bin")).hasBinaryContent(ALL);
      Path one = files.folder(List.of(new Named("../../x", source("x"))));
      assertThat(one.resolve("x")).hasBinaryContent(ALL).hasParent(one);
      assertThat(files.path(new Named("/", source("x")))).hasFileName("data");
      assertThat(files.path(new Named("a/..", source("x")))).hasFileName("data");
    }
  }

  @Test
  void namesThatAreNoneAreRefused() throws IOException {
    try (CachedFiles files = open(ROOM)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> files.folder(List.of(source("a"), source("b/../a"))))
          .withMessageContaining("each source must be named by a path of its own, got /127.0.0.1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> files.folder(List.of(new Named("a/..", source("a")))))
          .withMessageContaining("each source must be named by a path of its own, got /");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> files.folder(List.of()))
          .withMessage("at least one source is needed, got none");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open(0))
        .withMessage("bytes must be at least 1, got 0");
  }

  @Test
  void aLocalFileIsItsOwn() throws IOException {
    Path own = Files.write(outputs.resolve("own"), ALL);
    try (CachedFiles files = open(1)) {
      assertThat(files.path(ByteSource.file(own))).isEqualTo(own);
    }
    assertThat(folder).doesNotExist();
  }

  @Test
  void failuresAreThoseOfTheSourceOrOfTheThread() throws IOException {
    try (CachedFiles files = open(ROOM)) {
      server.faults.add(FaultServer.status(403, Map.of()));
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(source("a")))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DENIED));
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(new Named("negative", source("a"))))
          .withMessageEndingWith("its size must be at least 0, got -1");
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(new Named("broken", source("a"))))
          .withMessageEndingWith("broken cannot be read at byte 0: no size today");
      Thread.currentThread().interrupt();
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> files.path(new Named("a", source("a"))))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.INTERRUPTED));
      assertThat(Thread.interrupted()).isTrue();
      files.close();
      files.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> files.path(source("a")))
          .withMessage("CachedFiles is closed");
    }
  }

  @Test
  void filesThatAreReleasedMakeRoom() throws IOException {
    try (CachedFiles files = open(2L * SIZE)) {
      Path first = files.path(source("a"));
      assertThat(files.path(source("a"))).isEqualTo(first);
      files.path(source("b"));
      files.release(first);
      files.release(first.resolveSibling("."));
      files.release(first.resolveSibling("other"));
      files.release(first.resolve("x"));
      files.release(requireNonNull(first.getParent()));
      assertThatExceptionOfType(ByteSourceException.class)
          .as("the other use of the first file")
          .isThrownBy(() -> files.path(source("c")))
          .withMessageContaining("do not fit the limit");
      assertThat(first).exists();
      files.release(first);
      assertThat(files.path(source("c"))).exists();
      assertThat(first).doesNotExist();
    }
  }
}
