// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import de.siegmar.fastcsv.reader.CommentStrategy;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvReader.CsvReaderBuilder;
import de.siegmar.fastcsv.reader.CsvRecord;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.internal.gzip.GzipText;
import io.torchfeed.storage.ByteSource;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The records of a CSV file after the names in its first line. Not thread-safe. */
final class CsvRecords implements AutoCloseable {
  private static final int BUFFER_BYTES = 1 << 16;
  private static final int[] GZIP = {0x1f, 0x8b};

  private final Path path;
  private final @Nullable ByteSource source;
  private final char separator;
  private final CsvReader<CsvRecord> reader;
  private final Iterator<CsvRecord> records;
  private final List<String> header = new ArrayList<>();

  private CsvRecords(
      Path path, @Nullable ByteSource source, char separator, CsvReader<CsvRecord> reader) {
    this.path = path;
    this.source = source;
    this.separator = separator;
    this.reader = reader;
    records = reader.iterator();
    if (records.hasNext()) {
      records.next().getFields().forEach(name -> header.add(name.strip()));
    }
  }

  /**
   * Opens a file; the caller closes the records.
   *
   * @param source the bytes of the file; null if it is opened by its path
   */
  static CsvRecords open(Path path, @Nullable ByteSource source, CsvOptions options)
      throws IOException {
    if (source == null) {
      RegularFile.require(path);
    }
    CsvReaderBuilder builder =
        CsvReader.builder()
            .fieldSeparator(options.separator())
            .commentStrategy(CommentStrategy.NONE)
            .skipEmptyLines(true)
            .missingFieldStrategy(FieldMismatchStrategy.IGNORE) // reported with their line
            .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
            .allowUnclosedQuote(false)
            .detectBomHeader(true);
    Character comment = options.comment();
    if (comment != null) {
      builder.commentStrategy(CommentStrategy.SKIP).commentCharacter(comment);
    }
    CsvReader<CsvRecord> reader =
        isCompressed(path, source)
            ? builder.ofCsvRecord(uncompressed(path, source))
            : source == null ? builder.ofCsvRecord(path) : builder.ofCsvRecord(source.stream());
    try {
      return new CsvRecords(path, source, options.separator(), reader);
    } catch (RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  /** Returns the name of another format of the file, for a message; nothing if it is unknown. */
  private String otherFormat() {
    try (InputStream in =
        isCompressed(path, source) ? uncompressed(path, source) : stream(path, source)) {
      String content = FileContent.of(in.readNBytes(FileContent.BEGIN_BYTES));
      return content == null || FileContent.isText(content) ? "" : ": it is " + content;
    } catch (IOException e) {
      return ""; // the message quotes the names that were read
    }
  }

  private static InputStream stream(Path path, @Nullable ByteSource source) throws IOException {
    return source == null
        ? new BufferedInputStream(Files.newInputStream(path), BUFFER_BYTES)
        : source.stream();
  }

  private static boolean isCompressed(Path path, @Nullable ByteSource source) throws IOException {
    try (InputStream in = stream(path, source)) {
      return in.read() == GZIP[0] && in.read() == GZIP[1];
    }
  }

  private static InputStream uncompressed(Path path, @Nullable ByteSource source)
      throws IOException {
    InputStream in = stream(path, source);
    try {
      return new GzipText(in);
    } catch (IOException e) {
      in.close();
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
              .formatted(path, name, FieldFormat.quote(header.toString()), otherFormat()));
    }
    return place;
  }

  boolean hasNext() {
    return records.hasNext();
  }

  CsvRecord next() {
    return records.next();
  }

  /**
   * Requires as many fields as names.
   *
   * @throws FieldException if there are more or fewer
   */
  void requireFields(CsvRecord record) {
    if (record.getFieldCount() != header.size()) {
      throw wrong(
          record,
          "record",
          String.join(String.valueOf(separator), record.getFields()),
          "must have %d fields".formatted(header.size()));
    }
  }

  FieldException wrong(CsvRecord record, String column, String text, String problem) {
    return new FieldException(
        path, "line " + record.getStartingLineNumber(), column, FieldFormat.quote(text), problem);
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
