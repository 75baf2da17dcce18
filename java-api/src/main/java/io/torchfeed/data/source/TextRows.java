// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.internal.Checks;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;

/**
 * A parser of lines as rows of numbers: the fields of a line fill the columns one after the other;
 * for example, {@code float32 [4]} takes the first four fields and {@code int64 []} the fifth.
 * Immutable, thread-safe.
 *
 * <p>White space around fields is ignored, and fields must not be quoted; for files with quotes use
 * {@link CsvFile}, which also describes the forms of numbers and bools.
 */
public final class TextRows implements SampleEncoder<TextLines.TextLine> {
  private final String separators;
  private final List<RowSpec> columns;
  private final long fields;

  private TextRows(String separators, List<RowSpec> columns) {
    this.separators = separators;
    this.columns = columns;
    this.fields = columns.stream().mapToLong(RowSpec::elements).sum();
  }

  /**
   * Returns a collator for lines whose fields are separated by one of the given characters.
   *
   * @param separators characters, each of which separates fields; at least one
   * @param columns the dtype and shape of each column of a row, at least one column
   * @return the collator
   * @throws IllegalArgumentException if there is no separator or no column, a row takes 2^31 bytes
   *     or more, or its dtype is not bool, uint8, a signed integer, float32 or float64
   */
  public static TextRows separatedBy(String separators, List<RowSpec> columns) {
    requireNonNull(columns, "columns");
    requireNonNull(separators, "separators");
    if (separators.isEmpty() || columns.isEmpty()) {
      throw new IllegalArgumentException(
          "at least one separator and one column are needed, got \"%s\" and %s"
              .formatted(separators, columns));
    }
    Checks.copyOf("columns", columns).forEach(row -> FieldFormat.requireReadable(row.dtype()));
    Slab.requireFits(columns, 1);
    return new TextRows(separators, List.copyOf(columns));
  }

  @Override
  public List<RowSpec> columns() {
    return columns;
  }

  /**
   * Writes a line.
   *
   * @throws FieldException if a field is not a number of its column's dtype, or there are more or
   *     fewer fields
   */
  @Override
  public void write(TextLines.TextLine line, SampleWriter sample) {
    requireNonNull(line, "line");
    requireNonNull(sample, "sample");
    String text = line.text();
    int number = 0;
    int from = 0;
    int column = 0;
    long left = columns.get(0).elements();
    for (int i = 0; i <= text.length(); i++) {
      if (i == text.length() || separators.indexOf(text.charAt(i)) >= 0) {
        while (left == 0 && column < columns.size() - 1) {
          column++;
          left = columns.get(column).elements();
        }
        if (number == fields) {
          throw wrong(line, number, text, "a line must have %d fields".formatted(fields));
        }
        put(line, number, column, text.substring(from, i), sample);
        number++;
        left--;
        from = i + 1;
      }
    }
    if (number < fields) {
      throw wrong(line, number, text, "a line must have %d fields".formatted(fields));
    }
  }

  private void put(
      TextLines.TextLine line, int number, int column, String field, SampleWriter sample) {
    try {
      FieldFormat.put(sample, column, columns.get(column).dtype(), field);
    } catch (NumberFormatException e) {
      throw wrong(line, number, field, FieldFormat.rule(columns.get(column).dtype()));
    }
  }

  private static FieldException wrong(
      TextLines.TextLine line, int number, String text, String problem) {
    return new FieldException(
        line.path(), "byte " + line.offset(), "field " + number, FieldFormat.quote(text), problem);
  }
}
