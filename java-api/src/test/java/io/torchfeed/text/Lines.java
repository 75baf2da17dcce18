// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import io.torchfeed.text.TextFileException.Problem;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/** Files and their lines, one char per byte. */
public final class Lines {
  static final LineOptions EXACT =
      LineOptions.defaults().withCarriageReturn(LineOptions.CarriageReturn.KEEP);

  private Lines() {}

  public static Path file(Path directory, String name, String content) {
    return file(directory.resolve(name), content.getBytes(ISO_8859_1));
  }

  public static Path file(Path path, byte[] content) {
    try {
      return Files.write(path, content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Path gzip(Path directory, String name, String content) {
    return packed(directory, name, content);
  }

  /** Writes a file in the format given by its extension. */
  static Path packed(Path directory, String name, String content) {
    Path path = directory.resolve(name);
    try (OutputStream file = Files.newOutputStream(path);
        OutputStream out =
            name.endsWith(".gz")
                ? new GZIPOutputStream(file)
                : new ZstdOutputStreamNoFinalizer(file).setChecksum(true)) {
      out.write(content.getBytes(ISO_8859_1));
      return path;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static List<String> names(Path... paths) {
    return List.of(paths).stream().map(Path::toString).toList();
  }

  static List<String> of(TextPartition plan, int rank) {
    return of(plan, rank, EXACT);
  }

  static List<String> of(TextPartition plan, int rank, LineOptions options) {
    try (LineCursor cursor = plan.open(rank, options)) {
      return rest(cursor);
    }
  }

  static List<String> rest(LineCursor cursor) {
    List<String> lines = new ArrayList<>();
    while (cursor.next()) {
      lines.add(text(cursor));
    }
    return lines;
  }

  static String text(LineCursor cursor) {
    return new String(cursor.bytes(), cursor.start(), cursor.length(), ISO_8859_1);
  }

  static List<List<String>> ofEach(TextPartition plan) {
    return ofEach(plan, EXACT);
  }

  static List<List<String>> ofEach(TextPartition plan, LineOptions options) {
    List<List<String>> lines = new ArrayList<>();
    for (int rank = 0; rank < plan.worldSize(); rank++) {
      lines.add(of(plan, rank, options));
    }
    return lines;
  }

  static List<String> ofAll(TextPartition plan) {
    return ofEach(plan).stream().flatMap(List::stream).toList();
  }

  /** Returns the lines of a content, computed naively. */
  static List<String> expected(String content) {
    List<String> lines = new ArrayList<>();
    int from = 0;
    for (int i = 0; i < content.length(); i++) {
      if (content.charAt(i) == '\n') {
        lines.add(content.substring(from, i));
        from = i + 1;
      }
    }
    if (from < content.length()) {
      lines.add(content.substring(from));
    }
    return lines;
  }

  /** Checks that reading a plan of a file fails because of the file. */
  static void assertProblem(TextPartition plan, Path path, Problem problem) {
    assertThatThrownBy(() -> of(plan, 0))
        .isInstanceOfSatisfying(
            TextFileException.class,
            e -> {
              assertThat(e.problem()).isEqualTo(problem);
              assertThat(e.path()).isEqualTo(path);
              assertThat(e).hasMessageStartingWith(path + " ");
            });
  }
}
