// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import de.siegmar.fastcsv.reader.CommentStrategy;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvReader.CsvReaderBuilder;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The records of a CSV file after the names in its first line. Not thread-safe. */
final class CsvRecords implements AutoCloseable {
  private static final char[] SEPARATORS = {';', '\t', '|', ','};

  private final CsvText text;
  private final char separator;
  private final boolean isComment; // whether lines that begin with # are comments
  private final CsvReader<CsvRow> reader;
  private final Iterator<CsvRow> records;
  private final List<String> header = new ArrayList<>();

  private CsvRecords(CsvText text, CsvOptions options, CsvReader<CsvRow> reader) {
    this.text = text;
    separator = options.separator();
    isComment = Objects.equals(options.comment(), '#');
    this.reader = reader;
    records = reader.iterator();
    if (records.hasNext()) {
      CsvRow names = records.next();
      for (int i = 0; i < names.fields(); i++) {
        header.add(names.text(i).strip());
      }
    }
  }

  /** Opens a file; the caller closes the records. */
  static CsvRecords open(CsvText text, CsvOptions options) throws IOException {
    CsvReaderBuilder builder =
        CsvReader.builder()
            .fieldSeparator(options.separator())
            .commentStrategy(CommentStrategy.NONE)
            .skipEmptyLines(true)
            .missingFieldStrategy(FieldMismatchStrategy.IGNORE) // reported with their line
            .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
            .allowUnclosedQuote(false);
    Character comment = options.comment();
    if (comment != null) {
      builder.commentStrategy(CommentStrategy.SKIP).commentCharacter(comment);
    }
    CsvReader<CsvRow> reader = builder.build(new CsvRow(), text.open());
    try {
      return new CsvRecords(text, options, reader);
    } catch (RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  /** Returns, for each name, the field of a record that it names. */
  int[] places(List<String> names) {
    Map<String, Integer> byName = new HashMap<>();
    for (int i = 0; i < header.size(); i++) {
      byName.merge(header.get(i), i, (a, b) -> -1);
    }
    return names.stream().mapToInt(name -> place(byName.getOrDefault(name, -1), name)).toArray();
  }

  private int place(int place, String name) {
    if (place < 0) {
      throw new IllegalArgumentException(
          "%s must have exactly one column \"%s\", got %s%s"
              .formatted(text.path(), name, FieldFormat.quote(header.toString()), cure()));
    }
    return place;
  }

  /** Returns the likely reason why names are missing, for a message; nothing if there is none. */
  private String cure() {
    String names = String.join("", header);
    if (names.indexOf('\0') >= 0) {
      return ": it has zero bytes, as UTF-16 without a byte-order mark; convert it to UTF-8";
    }
    if (names.startsWith("#") && !isComment) {
      return "; its comments need withComments('#')";
    }
    for (char other : header.size() == 1 ? SEPARATORS : new char[0]) {
      if (names.indexOf(other) >= 0) {
        return "; its fields may need separatedBy('%s')".formatted(other == '\t' ? "\\t" : other);
      }
    }
    return text.otherFormat();
  }

  boolean hasNext() {
    return records.hasNext();
  }

  /** Returns the next record, until it is called again. */
  CsvRow next() {
    return records.next();
  }

  /**
   * Requires as many fields as names.
   *
   * @throws FieldException if there are more or fewer
   */
  void requireFields(CsvRow record) {
    if (record.fields() != header.size()) {
      throw wrong(
          record, "record", record.text(separator), "must have %d fields".formatted(header.size()));
    }
  }

  FieldException wrong(CsvRow record, String column, String field, String problem) {
    return new FieldException(
        text.path(), "line " + record.line(), column, FieldFormat.quote(field), problem);
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
