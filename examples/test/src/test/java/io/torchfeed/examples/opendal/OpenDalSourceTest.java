// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.opendal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.ReadAhead;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.opendal.Operator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OpenDalSourceTest {
  private final List<String> expected = new ArrayList<>();
  private final Path file;

  OpenDalSourceTest(@TempDir Path folder) throws IOException {
    for (int i = 0; i < 20_000; i++) {
      expected.add("row," + i);
    }
    file = Files.write(folder.resolve("train.csv"), expected);
  }

  private Operator store() {
    return Operator.of("fs", Map.of("root", file.resolveSibling(".").normalize().toString()));
  }

  @Test
  void linesAreReadByRanksAndCopiesByFiles(@TempDir Path cache) throws IOException {
    List<String> lines = new ArrayList<>();
    try (Operator store = store();
        ByteSource source = ReadAhead.of(OpenDalSource.of(store, "rows", "train.csv"), 10_000, 4);
        CachedFiles files = CachedFiles.of(cache, 1 << 20)) {
      TextPartition plan = TextPartition.of(List.of(source), 2);
      for (int rank = 0; rank < 2; rank++) {
        try (LineCursor cursor = plan.open(rank)) {
          while (cursor.next()) {
            lines.add(cursor.text());
          }
        }
      }
      assertThat(files.path(OpenDalSource.of(store, "rows", "train.csv")))
          .hasBinaryContent(Files.readAllBytes(file));
    }
    assertThat(lines).isEqualTo(expected);
  }

  @Test
  void bytesOfAChangedObjectAreNotMixed() throws IOException {
    try (Operator store = store()) {
      OpenDalSource source = OpenDalSource.of(store, "rows", "train.csv");
      assertThat(source.read(0, ByteBuffer.allocate(10))).isEqualTo(10);
      FileTime then = Files.getLastModifiedTime(file);
      Files.write(file, new byte[(int) Files.size(file)]);
      Files.setLastModifiedTime(file, FileTime.fromMillis(then.toMillis() + 1000));
      assertFails(source, Problem.CHANGED);
      Files.delete(file);
      assertFails(source, Problem.CHANGED);
      assertFails(OpenDalSource.of(store, "rows", "train.csv"), Problem.MISSING);
    }
  }

  private static void assertFails(ByteSource source, Problem problem) {
    ByteBuffer into = ByteBuffer.allocate(10);
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> source.readFully(10, into))
        .withMessageStartingWith("rows/train.csv cannot be read at byte ")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem));
    assertThat(into.array()).containsOnly(0);
  }
}
