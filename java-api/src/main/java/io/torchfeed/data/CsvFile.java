// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import de.siegmar.fastcsv.reader.CommentStrategy;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvRecord;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
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
 * Files of comma-separated values with names in the first line (RFC 4180: fields may have quotes),
 * in UTF-8.
 *
 * <p>A file is loaded as a whole: numbers take less room than their text, and rows that lie in
 * memory can be gathered in any order by the native engine. It is read twice, first to count the
 * rows; nothing but the tensors is held. What does not fit is for {@link TextLines} with {@link
 * TextRows}.
 *
 * <p>FastCSV parses; it is an optional dependency, {@code de.siegmar:fastcsv} 4.
 */
public final class CsvFile {
  private final Path path;
  private final char separator;

  private CsvFile(Path path, char separator) {
    this.path = path;
    this.separator = separator;
  }

  /**
   * A file whose fields have a comma between them.
   *
   * @param path the file
   * @return the file, not yet read
   */
  public static CsvFile of(Path path) {
    return new CsvFile(requireNonNull(path, "path"), ',');
  }

  /**
   * The same file with another separator, for example a tab.
   *
   * @param character what stands between fields
   * @return the file, not yet read
   */
  public CsvFile separatedBy(char character) {
    return new CsvFile(path, character);
  }

  /**
   * Reads columns of the file; others are left out. Fields may have white space around them.
   *
   * @param columns what to read, at least one
   * @return a dataset with a column for each of these and a row for each record; the caller closes
   *     it
   * @throws FieldException if a record has more or fewer fields than names, or a field is no number
   *     of its column
   * @throws IllegalArgumentException if a name is not that of exactly one column, or the quotes of
   *     the file are not closed
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalStateException if the machine has not enough memory, or FastCSV is missing
   */
  public TensorDataset load(CsvColumn... columns) {
    requireFastCsv();
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
      throw new UncheckedIOException(e);
    } catch (CsvParseException e) {
      throw new IllegalArgumentException("%s is not CSV: %s".formatted(path, e.getMessage()), e);
    }
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
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE) // told with their line
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .detectBomHeader(true)
        .ofCsvRecord(path);
  }

  /** Of each column, which fields of a record it takes. */
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
          "%s must have exactly one column \"%s\", got %s".formatted(path, name, header));
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
    SampleWriter writer = new SampleWriter(BatchLayout.of(slab.columns(), List.of(), null));
    int row = -1;
    int fields = 0;
    try (CsvReader<CsvRecord> records = open()) {
      for (CsvRecord record : records) {
        if (row < 0) {
          fields = record.getFieldCount();
        } else if (row == count) {
          throw new IOException(path + " grew while it was read");
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
      throw new IOException(path + " shrank while it was read");
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

  /** The rows that are filled; the views keep the memory. */
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
}
