// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.storage.ByteSource;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The form of CSV files.
 *
 * @param paths the files, at least one, as an unmodifiable list
 * @param sources the bytes of the files, in the same order; empty if they are opened by their paths
 * @param separator between fields
 * @param comment the first character of a comment; null for none
 * @param missing the words that stand for a missing value, beside the empty one
 * @param hasComma whether numbers have a decimal comma
 * @param report receives the rows that are left out; null if there are none
 */
record CsvOptions(
    List<Path> paths,
    List<ByteSource> sources,
    char separator,
    @Nullable Character comment,
    Set<String> missing,
    boolean hasComma,
    @Nullable Consumer<? super FieldException> report) {
  static CsvOptions of(List<Path> paths) {
    return new CsvOptions(List.copyOf(paths), List.of(), ',', null, Set.of(), false, null);
  }

  static CsvOptions ofSources(List<ByteSource> sources) {
    List<Path> paths =
        sources.stream()
            .map(source -> Path.of(requireNonNull(source.name(), "the name of a source")))
            .toList();
    return new CsvOptions(paths, List.copyOf(sources), ',', null, Set.of(), false, null);
  }

  /** Returns the bytes of a file; null if it is opened by its path. */
  @Nullable ByteSource source(int file) {
    return sources.isEmpty() ? null : sources.get(file);
  }

  CsvOptions withSeparator(char character) {
    return new CsvOptions(paths, sources, character, comment, missing, hasComma, report);
  }

  CsvOptions withComment(char character) {
    return new CsvOptions(paths, sources, separator, character, missing, hasComma, report);
  }

  CsvOptions withMissing(List<String> words) {
    return new CsvOptions(paths, sources, separator, comment, Set.copyOf(words), hasComma, report);
  }

  CsvOptions withComma() {
    return new CsvOptions(paths, sources, separator, comment, missing, true, report);
  }

  CsvOptions withReport(Consumer<? super FieldException> receiver) {
    return new CsvOptions(paths, sources, separator, comment, missing, hasComma, receiver);
  }

  /** Leaves a row out, or fails. */
  void refuse(FieldException wrong) {
    if (report == null) {
      throw wrong;
    }
    report.accept(wrong);
  }

  /** Returns whether a field, without white space, is missing. */
  boolean isMissing(CharSequence field) {
    if (field.isEmpty()) {
      return true;
    }
    for (String word : missing) {
      if (word.contentEquals(field)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Parses a number.
   *
   * @throws NumberFormatException if the text is something else
   */
  double number(CharSequence field) {
    if (!hasComma) {
      return Decimals.float64(field);
    }
    String text = field.toString();
    if (text.indexOf('.') >= 0) {
      throw new NumberFormatException();
    }
    return Decimals.float64(text.replace(',', '.'));
  }
}
