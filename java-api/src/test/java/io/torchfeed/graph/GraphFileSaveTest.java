// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.text.Lines;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The effect of {@link GraphFile#save} on anything at its path. */
class GraphFileSaveTest {
  private static final int ROUNDS = 20;

  private final Path folder;
  private final Path saved;
  private final BipartiteGraph small;

  GraphFileSaveTest(@TempDir Path folder) {
    this.folder = folder;
    saved = folder.resolve("saved");
    small = graph(1);
  }

  private BipartiteGraph graph(int edges) {
    StringBuilder content = new StringBuilder();
    IntStream.range(0, edges).forEach(i -> content.append(i).append(",").append(i).append("\n"));
    Path file = Lines.file(folder, "edges", content.toString());
    return BipartiteGraph.of(
        EdgeLoader.over(TextPartition.plan(Lines.names(file), 1)).build().load(0, AllToAll.alone()),
        EdgeLoader.DuplicatePolicy.LAST);
  }

  private void assertOnly(String... names) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files.map(each -> each.getFileName().toString()))
          .containsExactlyInAnyOrder(
              Stream.concat(Stream.of("edges"), Stream.of(names)).toArray(String[]::new));
    }
  }

  @Test
  void twoSaversToOnePathLeaveOneWholeFile() throws Exception {
    BipartiteGraph large = graph(20_000);
    for (int round = 0; round < ROUNDS; round++) {
      CyclicBarrier start = new CyclicBarrier(2);
      LocalRanks.run(
          2,
          (rank, exchange) -> {
            start.await();
            GraphFile.save(rank == 0 ? small : large, saved);
            return rank;
          });
      assertThat(GraphFile.loadBipartiteGraph(saved).edges().rows()).isIn(1, 20_000);
    }
    assertOnly("saved");
  }

  @Test
  void aLinkIsFollowed() throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("link"), Path.of("saved"));
    Files.writeString(saved, "old");
    GraphFile.save(small, link);
    assertThat(link).isSymbolicLink();
    assertThat(GraphFile.loadBipartiteGraph(saved).edges()).isEqualTo(small.edges());
    assertOnly("saved", "link");
  }

  @Test
  void aNamedPipeIsRefusedAndStays() throws Exception {
    int status = new ProcessBuilder("mkfifo", saved.toString()).start().waitFor();
    assumeTrue(status == 0, "mkfifo is not available");
    assertRefused(saved);
    Path link = Files.createSymbolicLink(folder.resolve("link"), saved);
    assertRefused(link);
    assertOnly("saved", "link");
  }

  @Test
  void aDeviceIsRefused() throws IOException {
    // Through a link, so that a test that fails as root replaces the link alone.
    Path device = Path.of("/dev/null");
    assumeTrue(Files.exists(device), "this system has no null device");
    Path link = Files.createSymbolicLink(saved, device);
    assertRefused(link);
    assertThat(link).isSymbolicLink();
    assertOnly("saved");
  }

  private void assertRefused(Path path) {
    assertThatThrownBy(() -> GraphFile.save(small, path))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessage(
            "cannot write %s: it must be a regular file or not exist, got a pipe, a socket or a"
                    .formatted(path)
                + " device");
    assertThat(Files.isRegularFile(path)).isFalse();
  }

  @Test
  void theLongestNameOfAFileCanBeSaved() {
    Path longest = folder.resolve("n".repeat(255));
    GraphFile.save(small, longest);
    assertThat(GraphFile.loadBipartiteGraph(longest).edges()).isEqualTo(small.edges());
  }

  @Test
  void aFolderThatCannotBeWrittenIsReported() {
    Path system = Path.of("/proc/self");
    assumeTrue(Files.exists(system), "this system has no folder without write permission");
    assertThatThrownBy(() -> GraphFile.save(small, system.resolve("saved")))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageStartingWith("cannot write /proc/self/saved: ");
  }
}
