// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import de.siegmar.fastcsv.reader.CommentStrategy;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvRecord;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.data.task.SlabSampleWriter;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * A file of comma-separated values with names in the first line (RFC 4180: fields may be quoted),
 * in UTF-8.
 *
 * <p>A file is loaded as a whole: numbers take less space than their text, and rows in memory can
 * be gathered in any order by the native engine. The file is read twice, first to count the rows;
 * only the tensors are held in memory. For files that do not fit, use {@link TextLines} with {@link
 * TextRows}.
 *
 * <p>Numbers are decimal and in ASCII, as Python's {@code float} and {@code int} read them: an
 * optional sign, digits and, in floating point, a decimal point and an exponent such as {@code
 * e-3}, or {@code inf}, {@code infinity} or {@code nan} in any case. A number outside the range of
 * its dtype is an error, as is one that would round to infinity; a number too small for its dtype
 * becomes zero. Hexadecimal digits, underscores and type suffixes are errors. A bool is true,
 * false, 1 or 0.
 *
 * <p>The parser is FastCSV, an optional dependency: {@code de.siegmar:fastcsv} 4.
 */
public final class CsvFile {
  private final Path path;
  private final char separator;

  private CsvFile(Path path, char separator) {
    this.path = path;
    this.separator = separator;
  }

  /**
   * Returns a file whose fields are separated by commas.
   *
   * @param path the file
   * @return the file, not yet read
   */
  public static CsvFile of(Path path) {
    return new CsvFile(requireNonNull(path, "path"), ',');
  }

  /**
   * Returns the same file with another separator, for example a tab.
   *
   * @param character the separator between fields
   * @return the file, not yet read
   */
  public CsvFile separatedBy(char character) {
    return new CsvFile(path, character);
  }

  /**
   * Reads columns of the file; others are left out. White space around fields is ignored.
   *
   * @param columns the columns to read, at least one
   * @return a dataset with a column for each of these and a row for each record; the caller closes
   *     it
   * @throws FieldException if a record has more or fewer fields than names, or a field is not a
   *     number of its column's dtype
   * @throws IllegalArgumentException if the path is not a regular file, a name does not match
   *     exactly one column, or a field or record exceeds the limits of FastCSV, as happens with
   *     unclosed quotes
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalStateException if there is not enough memory, or FastCSV is missing
   */
  public TensorDataset load(CsvColumn... columns) {
    requireNonNull(columns, "columns");
    requireFastCsv();
    RegularFile.require(path);
    List<RowSpec> rows = List.of(columns).stream().map(CsvColumn::row).toList();
    try {
      int[][] places = places(columns);
      int count = count();
      Slab.requireFits(rows, Math.max(1, count));
      try (Slab slab = Slab.allocate(rows, Math.max(1, count))) {
        fill(slab, count, places, columns);
        return dataset(slab, count);
      }
    } catch (IOException e) {
      throw unreadable(e);
    } catch (UncheckedIOException e) { // thrown by FastCSV, which names the record
      throw unreadable(requireNonNull(e.getCause(), "cause"));
    } catch (CsvParseException e) {
      throw new IllegalArgumentException(
          "%s is not CSV: %s".formatted(path, Failures.reason(e)), e);
    }
  }

  private UncheckedIOException unreadable(IOException e) {
    return new UncheckedIOException("cannot read %s: %s".formatted(path, Failures.reason(e)), e);
  }

  private static void requireFastCsv() {
    try {
      requireNonNull(CsvReader.class.getName());
    } catch (NoClassDefFoundError e) {
      throw new IllegalStateException(
          "CSV needs FastCSV; add the dependency de.siegmar:fastcsv, version 4", e);
    }
  }

  private CsvReader<CsvRecord> open() throws IOException {
    return CsvReader.builder()
        .fieldSeparator(separator)
        .commentStrategy(CommentStrategy.NONE)
        .skipEmptyLines(true)
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE) // reported below with their line
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .detectBomHeader(true)
        .ofCsvRecord(path);
  }

  /** Returns, for each column, the fields of a record that it takes. */
  private int[][] places(CsvColumn... columns) throws IOException {
    List<String> header = new ArrayList<>();
    try (CsvReader<CsvRecord> records = open()) {
      for (CsvRecord first : records) {
        first.getFields().forEach(name -> header.add(name.strip()));
        break;
      }
    }
    Map<String, Integer> byName = new HashMap<>();
    for (int i = 0; i < header.size(); i++) {
      byName.merge(header.get(i), i, (a, b) -> -1);
    }
    int[][] places = new int[columns.length][];
    for (int i = 0; i < places.length; i++) {
      places[i] =
          columns[i].names().stream()
              .mapToInt(name -> place(byName.getOrDefault(name, -1), name, header))
              .toArray();
    }
    return places;
  }

  private int place(int place, String name, List<String> header) {
    if (place < 0) {
      throw new IllegalArgumentException(
          "%s must have exactly one column \"%s\", got %s"
              .formatted(path, name, FieldFormat.quote(header.toString())));
    }
    return place;
  }

  private int count() throws IOException {
    int count = -1; // the header
    try (CsvReader<CsvRecord> records = open()) {
      for (CsvRecord each : records) {
        count = Math.addExact(count, Math.min(1, each.getFieldCount()));
      }
    }
    return Math.max(0, count);
  }

  private void fill(Slab slab, int count, int[][] places, CsvColumn... columns) throws IOException {
    SlabSampleWriter writer = new SlabSampleWriter(BatchLayout.of(slab.columns(), List.of(), null));
    int row = -1;
    int fields = 0;
    try (CsvReader<CsvRecord> records = open()) {
      for (CsvRecord record : records) {
        if (row < 0) {
          fields = record.getFieldCount();
        } else if (row == count) {
          throw new IOException("it grew while it was read");
        } else {
          if (record.getFieldCount() != fields) {
            throw wrong(
                record,
                "record",
                String.join(String.valueOf(separator), record.getFields()),
                "must have %d fields".formatted(fields));
          }
          writer.begin(slab, row, 0, 0, row);
          for (int column = 0; column < places.length; column++) {
            put(record, places[column], column, columns[column], writer);
          }
          writer.end();
        }
        row++;
      }
    }
    if (Math.max(0, row) != count) {
      throw new IOException("it shrank while it was read");
    }
  }

  private void put(
      CsvRecord record, int[] places, int column, CsvColumn rule, SampleWriter writer) {
    for (int i = 0; i < places.length; i++) {
      String field = record.getField(places[i]);
      try {
        FieldFormat.put(writer, column, rule.dtype(), field);
      } catch (NumberFormatException e) {
        throw wrong(record, "column " + rule.names().get(i), field, FieldFormat.rule(rule.dtype()));
      }
    }
  }

  private FieldException wrong(CsvRecord record, String column, String text, String problem) {
    return new FieldException(
        path, "line " + record.getStartingLineNumber(), column, FieldFormat.quote(text), problem);
  }

  /** Returns a dataset of the filled rows; the views keep the memory. */
  private static TensorDataset dataset(Slab slab, int count) {
    Tensor[] tensors = new Tensor[slab.columns().size()];
    try {
      for (int i = 0; i < tensors.length; i++) {
        tensors[i] = slab.view(i, count);
      }
      return TensorDataset.of(tensors);
    } finally {
      for (Tensor tensor : tensors) {
        if (tensor != null) {
          tensor.close();
        }
      }
    }
  }

  /**
   * A column of a dataset, formed from columns of a file: {@code [size]} from one of them, {@code
   * [size, n]} from several.
   *
   * @param dtype the type of the elements
   * @param names the names in the first line of the file, at least one
   */
  public record CsvColumn(DType dtype, List<String> names) {
    /**
     * Creates a column.
     *
     * @param dtype the type of the elements
     * @param names the names in the first line of the file
     * @throws IllegalArgumentException if there is no name, or the dtype is not bool, uint8, a
     *     signed integer, float32 or float64
     */
    public CsvColumn {
      requireNonNull(names, "names");
      FieldFormat.requireReadable(requireNonNull(dtype, "dtype"));
      names = List.copyOf(names);
      if (names.isEmpty()) {
        throw new IllegalArgumentException("names must contain at least one column, got none");
      }
    }

    /**
     * Returns a column.
     *
     * @param dtype the type of the elements
     * @param names the names in the first line of the file
     * @return the column
     * @throws IllegalArgumentException if there is no name, or the dtype is not bool, uint8, a
     *     signed integer, float32 or float64
     */
    public static CsvColumn of(DType dtype, String... names) {
      requireNonNull(names, "names");
      return new CsvColumn(dtype, List.of(names));
    }

    RowSpec row() {
      return names.size() == 1 ? RowSpec.of(dtype) : RowSpec.of(dtype, names.size());
    }
  }
}
