// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.text.TextFileException.Problem;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of compressed files, which are read as a whole by one rank. */
class CompressedTextTest {
  /** A text that compresses badly and is longer than a decompression buffer. */
  private static final String LONG_TEXT =
      new Random(1).ints(40_000).mapToObj(Integer::toString).collect(Collectors.joining("\n"));

  private final Path folder;

  CompressedTextTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private TextPartition plan(int worldSize, Path... paths) {
    return TextPartition.plan(Lines.names(paths), worldSize);
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst", "b.ZSTD"})
  void aCompressedFileBelongsToTheRankOfItsFirstByte(String name) {
    Path a = Lines.file(folder, "a", "a1\na2\n");
    Path packed = Lines.packed(folder, name, "b1\nb2\n\nb3");
    Path c = Lines.file(folder, "c", "c1\nc2\n");
    for (int worldSize = 1; worldSize < 40; worldSize++) {
      TextPartition plan = plan(worldSize, a, packed, c);
      List<List<String>> each = Lines.ofEach(plan);
      assertThat(each.stream().flatMap(List::stream))
          .containsExactly("a1", "a2", "b1", "b2", "", "b3", "c1", "c2");
      assertThat(each.stream().filter(lines -> lines.contains("b1")))
          .singleElement()
          .satisfies(lines -> assertThat(lines).contains("b1", "b2", "b3"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst", "b.ZSTD"})
  void aCompressedFileResumesInTheMiddle(String name) {
    Path packed = Lines.packed(folder, name, "b1\nb2\n\nb3");
    Path c = Lines.file(folder, "c", "c1\nc2\n");
    TextPartition plan = plan(1, packed, c);
    List<String> all = Lines.ofAll(plan);
    for (int delivered = 0; delivered <= all.size(); delivered++) {
      try (LineCursor cursor = plan.open(0)) {
        for (int i = 0; i < delivered; i++) {
          assertThat(cursor.next()).isTrue();
        }
        for (int worldSize = 1; worldSize < 6; worldSize++) {
          assertThat(Lines.ofAll(plan.resume(List.of(cursor.state()), worldSize)))
              .isEqualTo(all.subList(delivered, all.size()));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst", "b.ZSTD"})
  void truncatedFilesAreReported(String name) throws IOException {
    Path packed = Lines.packed(folder, name, "line\n".repeat(1000));
    byte[] bytes = Files.readAllBytes(packed);
    Files.write(packed, Arrays.copyOf(bytes, bytes.length - 12));
    Lines.assertProblem(plan(1, packed), packed, Problem.UNREADABLE);
    Files.writeString(packed, "not packed at all\n");
    Lines.assertProblem(plan(1, packed), packed, Problem.UNREADABLE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst"})
  void filesTruncatedAnywhereAreReportedWithAReason(String name) throws IOException {
    Path packed = Lines.packed(folder, name, "line\n".repeat(10));
    byte[] bytes = Files.readAllBytes(packed);
    for (int length = 1; length < bytes.length; length++) {
      Files.write(packed, Arrays.copyOf(bytes, length));
      assertThatThrownBy(() -> Lines.of(plan(1, packed), 0))
          .isInstanceOf(TextFileException.class)
          .hasMessageMatching(
              Pattern.quote(packed.toString()) + " cannot be read after \\d+ bytes of .*: .+")
          .hasMessageNotContaining("null");
    }
  }

  /** Three members of one line each. */
  private byte[] members(String name) throws IOException {
    byte[] all = new byte[0];
    for (String line : List.of("one\n", "two\n", "three\n")) {
      byte[] member = Files.readAllBytes(Lines.packed(folder, name, line));
      all = joined(all, member);
    }
    return all;
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private static int startOfLast(byte[] members) {
    int start = members.length - 1;
    while ((members[start] & 0xFF) != 0x1f || (members[start + 1] & 0xFF) != 0x8b) {
      start--;
    }
    return start;
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst"})
  void membersTruncatedAnywhereAreReported(String name) throws IOException {
    byte[] members = members(name);
    Path one = Lines.packed(folder, name, "one\n");
    int firstBytes = (int) Files.size(one);
    int lastStart = members.length - (int) Files.size(Lines.packed(folder, name, "three\n"));
    for (int length = firstBytes + 1; length < members.length; length++) {
      Path packed = Lines.file(folder.resolve(name), Arrays.copyOf(members, length));
      if (length == lastStart) {
        assertThat(Lines.of(plan(1, packed), 0)).containsExactly("one", "two");
      } else {
        Lines.assertProblem(plan(1, packed), packed, Problem.UNREADABLE);
      }
    }
  }

  @Test
  void damagedHeadersOfLaterMembersAreReported() throws IOException {
    byte[] members = members("b.gz");
    int start = startOfLast(members);
    for (int at : new int[] {0, 1, 2, 3}) { // magic, method and flags; the rest may be anything
      byte[] damaged = members.clone();
      damaged[start + at] ^= 0x60;
      Path packed = Lines.file(folder.resolve("b.gz"), damaged);
      Lines.assertProblem(plan(1, packed), packed, Problem.UNREADABLE);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 511, 200_000})
  void zeroBytesAfterMembersArePadding(int zeros) throws IOException {
    byte[] members = members("b.gz");
    int start = startOfLast(members);
    byte[] padded = Arrays.copyOf(members, start + zeros); // cuts the last member
    Arrays.fill(padded, start, padded.length, (byte) 0);
    padded = joined(padded, Arrays.copyOfRange(members, start, members.length));
    padded = Arrays.copyOf(padded, padded.length + zeros);
    Path packed = Lines.file(folder.resolve("b.gz"), padded);
    assertThat(Lines.of(plan(1, packed), 0)).containsExactly("one", "two", "three");
    padded[padded.length - 1] = 'x';
    Lines.file(folder.resolve("b.gz"), padded);
    Lines.assertProblem(plan(1, packed), packed, Problem.UNREADABLE);
  }

  @Test
  void aHeaderMayHaveEveryField() throws IOException {
    byte[] plain = Files.readAllBytes(Lines.packed(folder, "b.gz", "one\n"));
    ByteArrayOutputStream header = new ByteArrayOutputStream();
    header.write(plain, 0, 3);
    header.write(2 + 4 + 8 + 16); // checksum, extra field, name and comment
    header.write(plain, 4, 6);
    header.writeBytes(new byte[] {3, 0, 'a', 'b', 'c', 'n', 'a', 'm', 'e', 0, '!', 0});
    CRC32 sum = new CRC32();
    sum.update(header.toByteArray());
    header.write((int) sum.getValue());
    header.write((int) sum.getValue() >> 8);
    byte[] packed = joined(header.toByteArray(), Arrays.copyOfRange(plain, 10, plain.length));
    Path file = Lines.file(folder.resolve("b.gz"), joined(packed, plain));
    assertThat(Lines.of(plan(1, file), 0)).containsExactly("one", "one");
    packed[header.size() - 1] ^= 1;
    Lines.file(file, packed);
    Lines.assertProblem(plan(1, file), file, Problem.UNREADABLE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst"})
  void damagedFilesAreReportedWithThePosition(String name) throws IOException {
    Path packed = Lines.packed(folder, name, LONG_TEXT);
    byte[] bytes = Files.readAllBytes(packed);
    for (int at = bytes.length - 20; at < bytes.length - 10; at++) {
      bytes[at] ^= 0x55;
    }
    Files.write(packed, bytes);
    assertThatThrownBy(() -> Lines.of(plan(1, packed), 0))
        .isInstanceOf(TextFileException.class)
        .hasMessageMatching(
            Pattern.quote(packed.toString()) + " cannot be read after [1-9]\\d* bytes of .*");
  }

  @ParameterizedTest
  @ValueSource(strings = {"b.gz", "b.zst"})
  void aCompressedFileIsOneBlockOfThePlan(String name) {
    Path packed = Lines.packed(folder, name, LONG_TEXT);
    TextPartition plan = plan(3, packed);
    assertThat(plan.shares().stream().map(TextPartition.RankShare::bytes))
        .containsExactly(packed.toFile().length(), 0L, 0L);
    assertThat(plan.table()).contains(name + ": compressed");
  }
}
