// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import io.torchfeed.text.TextFileException.Problem;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineCursorTest {
  private static final LineOptions SMALL =
      LineOptions.defaults().withBufferBytes(64).withMaxLineBytes(1 << 20);

  private final Path folder;

  LineCursorTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private TextPartition plan(int worldSize, Path... paths) {
    return TextPartition.plan(Lines.names(paths), worldSize);
  }

  @Nested
  class LineEnds {
    @Test
    void blankLinesCountAsLines() {
      Path file = Lines.file(folder, "blank", "\n\na\n\n\nb\n\n");
      assertThat(Lines.of(plan(1, file), 0)).containsExactly("", "", "a", "", "", "b", "");
    }

    @Test
    void aBlankLineDoesNotEndItsFile() {
      Path a = Lines.file(folder, "a", "\na1\n\na2\n");
      Path b = Lines.file(folder, "b", "b1\n");
      assertThat(Lines.ofAll(plan(2, a, b))).containsExactly("", "a1", "", "a2", "b1");
    }

    @Test
    void aCarriageReturnIsRemovedOrKept() {
      Path file = Lines.file(folder, "windows", "a\r\nb\r\r\n\r\nc\rd\ne\r");
      assertThat(Lines.of(plan(1, file), 0, LineOptions.defaults()))
          .containsExactly("a", "b\r", "", "c\rd", "e");
      assertThat(Lines.of(plan(1, file), 0)).containsExactly("a\r", "b\r\r", "\r", "c\rd", "e\r");
    }

    @Test
    void theLastLineNeedsNoNewline() {
      Path a = Lines.file(folder, "a", "a1\na2");
      Path b = Lines.file(folder, "b", "b1");
      for (int worldSize = 1; worldSize < 12; worldSize++) {
        assertThat(Lines.ofAll(plan(worldSize, a, b))).containsExactly("a1", "a2", "b1");
      }
    }

    @Test
    void aByteOrderMarkIsNotText() throws IOException {
      Path file = folder.resolve("marked");
      Files.writeString(file, "\ufeffa\n\ufeffb\n");
      for (int worldSize = 1; worldSize < 12; worldSize++) {
        List<String> lines = Lines.ofAll(plan(worldSize, file));
        assertThat(lines).hasSize(2).first().isEqualTo("a");
        assertThat(lines.get(1)).hasSize(4);
      }
    }

    @Test
    void emptyFilesAndFewerBytesThanRanksAreAccepted() {
      Path empty = Lines.file(folder, "empty", "");
      Path tiny = Lines.file(folder, "tiny", "a\nb");
      TextPartition plan = plan(64, empty, tiny, empty, tiny, empty);
      assertThat(Lines.ofAll(plan)).containsExactly("a", "b", "a", "b");
      assertThat(Lines.ofAll(plan(5, empty, empty))).isEmpty();
      assertThat(Lines.ofAll(TextPartition.plan(List.of(), 3))).isEmpty();
    }

    @Test
    void aLineLongerThanABlockEmptiesTheNextBlocks() {
      Path file = Lines.file(folder, "long", "a\n" + "x".repeat(500) + "\nb\n");
      assertThat(Lines.ofEach(plan(5, file))).extracting(List::size).containsExactly(2, 0, 0, 0, 1);
    }
  }

  @Nested
  class LongLines {
    @Test
    void longLinesGrowTheBuffer() {
      String line = "0123456789abcdef".repeat(1 << 18);
      Path file = Lines.file(folder, "long", "a\n" + line + "\nb\n");
      LineOptions options = LineOptions.defaults().withBufferBytes(64).withMaxLineBytes(1 << 30);
      assertThat(Lines.of(plan(1, file), 0, options)).containsExactly("a", line, "b");
      assertThat(Lines.ofEach(plan(3, file), options)).extracting(List::size).contains(2, 0, 1);
    }

    @Test
    void linesAfterALongLineAreRead() {
      for (int length : List.of(8_000, 8_191, 8_192, 20_000, 262_143, 300_000, 1_000_000)) {
        Path file = Lines.file(folder, "long", "a\n" + "x".repeat(length) + "\nb\nc\n");
        for (int worldSize = 2; worldSize < 20; worldSize++) {
          assertThat(Lines.ofAll(plan(worldSize, file)))
              .extracting(String::length)
              .containsExactly(1, length, 1, 1);
        }
      }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "\nc\n"})
    void lineLengthIsLimitedToTheByte(String end) {
      LineOptions options =
          LineOptions.defaults()
              .withCarriageReturn(LineOptions.CarriageReturn.KEEP)
              .withBufferBytes(64)
              .withMaxLineBytes(10);
      Path file = Lines.file(folder, "long", "a\n" + "x".repeat(10) + "\n" + "y".repeat(11) + end);
      try (LineCursor cursor = plan(1, file).open(0, options)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.text()).isEqualTo("x".repeat(10));
        assertThatThrownBy(cursor::next)
            .isInstanceOf(LineException.class)
            .hasMessageContaining("line 3, byte 13: a line must have at most 10 bytes");
      }
    }

    @Test
    void longLinesAreRefusedByDefaultBeforeTheyFillTheHeap() throws IOException {
      int length = 65 << 20;
      Path file = folder.resolve("bomb.zst");
      try (OutputStream out = new ZstdOutputStreamNoFinalizer(Files.newOutputStream(file))) {
        for (int i = 0; i < 65; i++) {
          out.write(new byte[1 << 20]);
        }
      }
      assertThat(Files.size(file)).isLessThan(40_000);
      TextPartition plan = plan(1, file);
      try (LineCursor cursor = plan.open(0)) {
        assertThatThrownBy(cursor::next)
            .isInstanceOf(LineException.class)
            .hasMessageContaining(
                "a line must have at most 67108864 bytes, got a longer one; raise maxLineBytes"
                    + " of the LineOptions");
      }
      try (LineCursor cursor = plan.open(0, LineOptions.defaults().withMaxLineBytes(length))) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.length()).isEqualTo(length);
        assertThat(cursor.next()).isFalse();
      }
    }

    @Test
    void linesBeyondTheLimitAreRefused() {
      Path file = Lines.file(folder, "long", "a\nbb\n" + "x".repeat(5_000) + "\nc\n");
      LineOptions options = LineOptions.defaults().withBufferBytes(64).withMaxLineBytes(4_000);
      try (LineCursor cursor = plan(1, file).open(0, options)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.next()).isTrue();
        assertThatThrownBy(cursor::next)
            .isInstanceOfSatisfying(
                LineException.class,
                e -> {
                  assertThat(e.error().lineNumber()).isEqualTo(3);
                  assertThat(e.error().offset()).isEqualTo(5);
                  assertThat(e.error().path()).isEqualTo(file);
                  assertThat(e.error().text()).startsWith("xxx").hasSize(1001);
                  assertThat(e).hasMessageContaining("a line must have at most 4000 bytes");
                });
      }
    }
  }

  @Nested
  class Places {
    @Test
    void lineNumberAndOffsetReferToTheFile() {
      Path a = Lines.file(folder, "a", "1\n2\n3\n");
      Path b = Lines.file(folder, "b", "aa\n\nbb\ncc\ndd\nee\n");
      TextPartition plan = plan(3, a, b);
      try (LineCursor cursor = plan.open(2, SMALL)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.text()).isEqualTo("dd");
        assertThat(cursor.path()).isEqualTo(b);
        assertThat(cursor.lineNumber()).isEqualTo(5);
        assertThat(cursor.offset()).isEqualTo(10);
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.lineNumber()).isEqualTo(6);
      }
      try (LineCursor cursor = plan.open(1)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.path()).isEqualTo(b);
        assertThat(cursor.lineNumber()).isEqualTo(2);
      }
    }

    @Test
    void invalidUtf8IsReplaced() {
      Path file = Lines.file(folder, "a", "a\u00ffb\n");
      try (LineCursor cursor = plan(1, file).open(0)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.text()).isEqualTo("a\ufffdb");
        assertThat(cursor.length()).isEqualTo(3);
      }
    }
  }

  @Nested
  class ChangedFiles {
    private final Path file = Lines.file(folder, "file", "a line\n".repeat(1000));
    private final TextPartition plan = plan(1, file);

    @Test
    void deletedFilesAreReported() throws IOException {
      Files.delete(file);
      Lines.assertProblem(plan, file, Problem.MISSING);
    }

    @Test
    void shrunkenFilesAreReported() throws IOException {
      Files.writeString(file, "a line\n");
      Lines.assertProblem(plan, file, Problem.SHRUNK);
    }

    @Test
    void grownFilesAreReported() throws IOException {
      Files.writeString(file, "more\n", StandardOpenOption.APPEND);
      Lines.assertProblem(plan, file, Problem.GROWN);
    }

    @Test
    void rewrittenFilesAreReported() throws IOException {
      Files.setLastModifiedTime(file, FileTime.fromMillis(1));
      Lines.assertProblem(plan, file, Problem.CHANGED);
    }

    @Test
    void unreadableFilesAreReported() throws IOException {
      Files.delete(file);
      Files.createDirectory(file);
      assertThatThrownBy(() -> Lines.of(plan, 0))
          .isInstanceOf(TextFileException.class)
          .hasMessageStartingWith(file + " ");
    }

    @Test
    void filesWithoutReadPermissionAreReported() {
      assumeFalse(
          !file.toFile().setReadable(false) || Files.isReadable(file), "this user may read all");
      Lines.assertProblem(plan, file, Problem.UNREADABLE);
    }

    @ParameterizedTest
    @ValueSource(ints = {-700, 700})
    void filesThatChangeSizeWhileBeingReadAreReported(int more) throws IOException {
      try (LineCursor cursor = plan.open(0, SMALL)) {
        assertThat(cursor.next()).isTrue();
        Files.writeString(file, "a line\n".repeat(1000 + more));
        assertThatThrownBy(() -> Lines.rest(cursor))
            .isInstanceOfSatisfying(
                TextFileException.class,
                e -> assertThat(e.problem()).isEqualTo(more < 0 ? Problem.SHRUNK : Problem.GROWN));
      }
    }
  }

  @Nested
  class Closing {
    @Test
    void closingTwiceIsSilent() {
      LineCursor cursor = plan(1, Lines.file(folder, "a", "a\nb\n")).open(0);
      assertThat(cursor.next()).isTrue();
      cursor.close();
      cursor.close();
      List<ThrowingCallable> methods =
          List.of(
              cursor::next,
              cursor::bytes,
              cursor::start,
              cursor::end,
              cursor::length,
              cursor::text,
              cursor::path,
              cursor::offset,
              cursor::lineNumber,
              () -> cursor.error("a problem"),
              cursor::state);
      assertThat(methods)
          .allSatisfy(
              method ->
                  assertThatIllegalStateException()
                      .isThrownBy(method)
                      .withMessageContaining("is closed"));
    }

    @Test
    void nextReturnsFalseAfterTheLastLine() {
      try (LineCursor cursor = plan(1, Lines.file(folder, "a", "a\n")).open(0)) {
        assertThat(cursor.next()).isTrue();
        assertThat(cursor.next()).isFalse();
        assertThat(cursor.next()).isFalse();
        assertThat(cursor.state().rest()).isEmpty();
        assertThatIllegalStateException().isThrownBy(cursor::path);
      }
    }
  }

  @Test
  void cursorsAreIndependent() throws IOException {
    TextPartition plan = plan(1, Lines.file(folder.resolve("u"), "a\nb\n".getBytes(UTF_8)));
    try (LineCursor one = plan.open(0);
        LineCursor two = plan.open(0)) {
      assertThat(one.next()).isTrue();
      assertThat(two.next()).isTrue();
      assertThat(one.next()).isTrue();
      assertThat(one.text()).isEqualTo("b");
      assertThat(two.text()).isEqualTo("a");
    }
  }
}
