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
import io.torchfeed.data.source.CsvFile.CsvColumn;
import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.data.task.SlabSampleWriter;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
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

/** Reads a file of comma-separated values by FastCSV, which only this class needs. */
final class CsvTable {
  private final Path path;
  private final char separator;

  CsvTable(Path path, char separator) {
    this.path = path;
    this.separator = separator;
  }

  /** Reads columns; see {@link CsvFile#load}. */
  TensorDataset load(CsvColumn... columns) {
    RegularFile.require(path);
    List<RowSpec> rows = List.of(columns).stream().map(CsvColumn::row).toList();
    try {
      int[][] places = places(columns);
      int count = count();
      Slab.requireFits(rows, Math.max(1, count));
      try (Slab slab = Slab.allocate(rows, Math.max(1, count))) {
        fill(slab, count, places, columns);
        return dataset(slab, count).withNames(names(rows));
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

  private CsvReader<CsvRecord> open() throws IOException {
    return CsvReader.builder()
        .fieldSeparator(separator)
        .commentStrategy(CommentStrategy.NONE)
        .skipEmptyLines(true)
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE) // reported below with their line
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .allowUnclosedQuote(false)
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

  /** Returns the names of columns; none for those that are loaded twice. */
  private static String[] names(List<RowSpec> rows) {
    List<String> all = rows.stream().map(RowSpec::name).toList();
    return all.stream()
        .map(name -> all.indexOf(name) == all.lastIndexOf(name) ? name : "")
        .toArray(String[]::new);
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
}
