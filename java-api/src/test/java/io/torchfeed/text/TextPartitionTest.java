// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.text.TextFileException.Problem;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TextPartitionTest {
  private final Path folder;

  TextPartitionTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private TextPartition plan(int worldSize, Path... paths) {
    return TextPartition.plan(Lines.names(paths), worldSize);
  }

  private Path tenThousandLines() {
    return Lines.file(
        folder,
        "numbers",
        String.join("", IntStream.range(0, 10_000).mapToObj("%09d\n"::formatted).toList()));
  }

  /** A source that is never read. */
  private record Huge(String name, long size) implements ByteSource {
    @Override
    public int read(long offset, ByteBuffer into) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  private static List<ByteRange> only(long start, long end) {
    return List.of(new ByteRange(start, end));
  }

  @Nested
  class Blocks {
    @Test
    void threeRanksHaveOneThirdOfTheBytesEach() {
      TextPartition plan = plan(3, tenThousandLines());
      assertThat(plan.ranges(0)).isEqualTo(only(0, 33_333));
      assertThat(plan.ranges(1)).isEqualTo(only(33_333, 66_666));
      assertThat(plan.ranges(2)).isEqualTo(only(66_666, 100_000));
      assertThat(Lines.ofEach(plan)).extracting(List::size).containsExactly(3334, 3333, 3333);
    }

    @Test
    void lineCountsOfSevenRanksDifferByAtMostOne() {
      assertThat(Lines.ofEach(plan(7, tenThousandLines())))
          .extracting(List::size)
          .startsWith(1429, 1428, 1429);
    }

    @Test
    void anExchangedPatternHas32BlocksPerRank() {
      TextPartition plan = TextPartition.plan(Lines.names(tenThousandLines()), 4, 32);
      assertThat(plan.blocks()).hasSize(128);
      assertThat(plan.blocks().get(0)).isEqualTo(new ByteRange(0, 781));
      assertThat(plan.blocks().get(127)).isEqualTo(new ByteRange(99_187, 100_000));
      assertThat(plan.ranges(1)).isEqualTo(only(32 * 781, 64 * 781));
    }

    @Test
    void anyNumberOfRanksReadsEachLineOnceInOrder() {
      Path file = tenThousandLines();
      List<String> all = Lines.ofAll(plan(1, file));
      assertThat(all).hasSize(10_000).isSorted();
      for (int worldSize = 2; worldSize < 100; worldSize++) {
        assertThat(Lines.ofAll(plan(worldSize, file))).isEqualTo(all);
      }
    }

    @Test
    void filesAreDividedAsIfConcatenated() {
      Path a = Lines.file(folder, "a", "a1\na2\na3\n");
      Path b = Lines.file(folder, "b", "b1\nb2\n");
      Path c = Lines.file(folder, "c", "c1\nc2\nc3\nc4\n");
      assertThat(Lines.ofEach(plan(2, a, b, c)))
          .containsExactly(List.of("a1", "a2", "a3", "b1", "b2"), List.of("c1", "c2", "c3", "c4"));
      assertThat(Lines.ofEach(plan(3, a, b, c)))
          .containsExactly(
              List.of("a1", "a2", "a3"), List.of("b1", "b2", "c1"), List.of("c2", "c3", "c4"));
      assertThat(Lines.ofEach(plan(4, a, b, c)))
          .containsExactly(
              List.of("a1", "a2"),
              List.of("a3", "b1"),
              List.of("b2", "c1"),
              List.of("c2", "c3", "c4"));
      assertThat(Lines.ofEach(plan(9, a, b, c))).allSatisfy(lines -> assertThat(lines).hasSize(1));
    }

    /** GNU split has the same rule: a line belongs to the chunk in which it starts. */
    @ParameterizedTest
    @ValueSource(ints = {2, 5, 8, 20})
    void splitGivesTheSameLines(int worldSize) throws Exception {
      Path file =
          Lines.file(
              folder,
              "words",
              String.join(
                      "\n", IntStream.range(0, 999).mapToObj(i -> "w".repeat(i * i % 37)).toList())
                  .substring(0, 16_000));
      for (int rank = 0; rank < worldSize; rank++) {
        Path chunk = folder.resolve("chunk");
        int status =
            run(chunk, "split", "-n", "l/%d/%d".formatted(rank + 1, worldSize), file.toString());
        assumeTrue(status == 0, "GNU split is not available");
        assertThat(Lines.of(plan(worldSize, file), rank))
            .isEqualTo(Lines.expected(Files.readString(chunk)));
      }
    }

    private static int run(Path output, String... command) throws Exception {
      try {
        Process process = new ProcessBuilder(command).redirectOutput(output.toFile()).start();
        return process.waitFor(1, TimeUnit.MINUTES) ? process.exitValue() : -1;
      } catch (IOException e) {
        return -1;
      }
    }

    @Test
    void offsetsBeyondTwoGigabytesAreCorrect() throws IOException {
      Path file = folder.resolve("sparse");
      long hole = 5L << 30;
      try (FileChannel out =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        out.write(ByteBuffer.wrap("\nlast\n".getBytes(UTF_8)), hole);
      }
      TextPartition plan = plan(1 << 16, file);
      assertThat(plan.bytes()).isEqualTo(hole + 6);
      assertThat(plan.ranges((1 << 16) - 1)).isEqualTo(only(hole - (80 << 10), hole + 6));
      assertThat(Lines.of(plan, (1 << 16) - 1)).containsExactly("last");
      assertThat(Lines.of(plan, (1 << 15))).isEmpty();
      try (LineCursor cursor = plan.open((1 << 16) - 1)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.offset()).isEqualTo(hole + 1);
      }
    }

    /** Files of such sizes are rare: 2^19 of the largest of ext4. */
    @Test
    void aTotalSizeThatOverflowsIsRefused() {
      List<ByteSource> two = List.of(new Huge("a", Long.MAX_VALUE), new Huge("b", 1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TextPartition.of(two, 2))
          .withMessage(
              "paths must have at most 9223372036854775807 bytes in total, got more with b");
      assertThat(TextPartition.of(two.subList(0, 1), 2).bytes()).isEqualTo(Long.MAX_VALUE);
    }
  }

  @Nested
  class Listing {
    @Test
    void aDirectoryStandsForItsFilesInSortedOrder() throws IOException {
      Files.createDirectories(folder.resolve("d/b/deep"));
      Files.createDirectories(folder.resolve("d/.hidden"));
      for (String name : List.of("c", "a", "b/2", "b/1", "b/deep/x", ".hidden/no", ".no")) {
        Lines.file(folder.resolve("d"), name, name + "\n");
      }
      assertThat(Lines.ofAll(plan(2, folder.resolve("d"))))
          .containsExactly("a", "b/1", "b/2", "b/deep/x", "c");
    }

    @Test
    void aPatternStandsForItsMatchesInSortedOrder() throws IOException {
      for (String directory : List.of("y", "x", "z")) {
        Files.createDirectories(folder.resolve(directory));
        Lines.file(folder, directory + "/part-1", directory + "1\n");
        Lines.file(folder, directory + "/part-0", directory + "0\n");
        Lines.file(folder, directory + "/other", directory + "?\n");
      }
      List<String> paths = List.of(folder + "/[xy]/part-*");
      assertThat(Lines.ofAll(TextPartition.plan(paths, 3))).containsExactly("x0", "x1", "y0", "y1");
    }

    @Test
    void aFileMayBeNamedLikeAPattern() {
      Path odd = Lines.file(folder, "a[1]*", "odd\n");
      Lines.file(folder, "a1", "other\n");
      assertThat(Lines.ofAll(plan(1, odd))).containsExactly("odd");
    }

    @Test
    void aTildeIsTheHomeDirectory() {
      String home = System.getProperty("user.home");
      try {
        System.setProperty("user.home", folder.toString());
        Lines.file(folder, "mine", "1\n");
        assertThat(Lines.ofAll(TextPartition.plan(List.of("~/mine"), 1))).containsExactly("1");
      } finally {
        System.setProperty("user.home", home);
      }
    }

    @Test
    void aMissingFileIsReported() {
      Path missing = folder.resolve("missing");
      assertThatThrownBy(() -> plan(2, missing))
          .isInstanceOfSatisfying(
              TextFileException.class,
              e -> {
                assertThat(e.problem()).isEqualTo(Problem.MISSING);
                assertThat(e.path()).isEqualTo(missing);
              });
      assertThatThrownBy(() -> TextPartition.plan(List.of(folder + "/*.none"), 2))
          .isInstanceOf(TextFileException.class)
          .hasMessageContaining("*.none matches no file");
    }

    @Test
    void anInaccessibleFileIsReportedWithOneReason() {
      Path tooLong = folder.resolve("x".repeat(300));
      assertThatThrownBy(() -> plan(2, tooLong))
          .isInstanceOf(TextFileException.class)
          .hasMessage(tooLong + " cannot be read: File name too long");
    }

    @Test
    void anInaccessibleDirectoryIsReportedWithOneReason() throws IOException {
      Path locked = Files.createDirectory(folder.resolve("locked"));
      Files.setPosixFilePermissions(locked, PosixFilePermissions.fromString("---------"));
      assumeFalse(Files.isReadable(locked), "this user may read everything");
      assertThatThrownBy(() -> plan(2, locked))
          .isInstanceOf(TextFileException.class)
          .hasMessage(locked + " cannot be read: access denied");
    }

    @Test
    void anImpossibleFileNameIsRefusedWithARemedy() {
      for (String name : List.of("a\0b", "a\0*")) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> TextPartition.plan(List.of(name), 2))
            .withMessageContaining("paths must be valid file names")
            .withMessageContaining("got \"" + name + "\"")
            .withMessageContaining("LC_ALL");
      }
    }

    @Test
    void aDirectoryThatContainsItselfIsReported() throws IOException {
      Files.createSymbolicLink(folder.resolve("self"), folder);
      assertThatThrownBy(() -> plan(2, folder))
          .isInstanceOf(TextFileException.class)
          .hasMessageContaining("self is a link to a directory that contains it");
    }

    @Test
    void aPathThatIsNotAFileIsReported() {
      assumeTrue(new File("/dev/null").exists(), "this system has no device files");
      assertThatThrownBy(() -> plan(2, Path.of("/dev/null")))
          .isInstanceOf(TextFileException.class)
          .hasMessageContaining("/dev/null must be a regular file or a directory");
    }

    @Test
    void argumentsAreChecked() {
      Path file = Lines.file(folder, "a", "a\n");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan(0, file))
          .withMessage("worldSize must be in [1, 65536], got 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TextPartition.plan(Lines.names(file), 1_000_000, 32))
          .withMessage("worldSize must be in [1, 65536], got 1000000");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan(1, file).resume(List.of(), 65_537))
          .withMessage("worldSize must be in [1, 65536], got 65537");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan(2, file).open(2))
          .withMessage("Invalid rank 2, rank should be in the interval [0, 1]");
    }
  }

  @Nested
  class Shares {
    @Test
    void sharesDescribeWhatEachRankReads() {
      Path a = Lines.file(folder, "a", "x".repeat(59) + "\n");
      Path packed = Lines.gzip(folder, "b.gz", "packed\n".repeat(10));
      TextPartition plan = plan(2, a, packed);
      long stored = packed.toFile().length();
      assertThat(plan.bytes()).isEqualTo(60 + stored);
      assertThat(plan.shares().get(0).bytes()).isEqualTo((60 + stored) / 2);
      assertThat(plan.shares().get(1).bytes()).isEqualTo(60 - (60 + stored) / 2 + stored);
      assertThat(plan.shares().get(1).files()).isEqualTo(2);
      assertThat(plan.shares().stream().mapToLong(TextPartition.RankShare::bytes).sum())
          .isEqualTo(plan.bytes());
      assertThat(plan.table())
          .contains("b.gz: compressed, %d bytes in one block".formatted(stored));
    }

    @Test
    void imbalanceIsTheMaximumOverTheMean() {
      assertThat(plan(4, tenThousandLines()).imbalance()).isEqualTo(1);
      assertThat(plan(3, tenThousandLines()).imbalance()).isEqualTo(1.00002, within(1e-9));
      assertThat(plan(4, Lines.gzip(folder, "one.gz", "a\n")).imbalance()).isEqualTo(4);
      assertThat(plan(4, Lines.file(folder, "empty", "")).imbalance()).isEqualTo(1);
    }

    @Test
    void theTableHasALinePerRank() {
      assertThat(plan(3, tenThousandLines()).table())
          .isEqualTo(
              """
                rank                bytes   share   files  ranges
                   0                33333  33.33%       1  [0, 33333)
                   1                33333  33.33%       1  [33333, 66666)
                   2                33334  33.33%       1  [66666, 100000)
              100000 bytes in 1 files, imbalance 1.0000
              """);
    }

    @Test
    void theDigestDistinguishesPlans() {
      Path a = Lines.file(folder, "a", "12345\n");
      Path b = Lines.file(folder, "b", "12345\n");
      assertThat(plan(2, a, b).digest()).isEqualTo(plan(2, a, b).digest());
      assertThat(plan(2, a, b).digest()).isNotEqualTo(plan(2, b, a).digest());
      assertThat(plan(2, a, b).digest()).isNotEqualTo(plan(3, a, b).digest());
    }
  }
}
