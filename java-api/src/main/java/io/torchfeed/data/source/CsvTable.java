// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import de.siegmar.fastcsv.reader.CsvParseException;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.source.CsvFile.CsvColumn;
import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.data.task.SlabSampleWriter;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableValueException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Reads files of comma-separated values by FastCSV. */
final class CsvTable {
  private final CsvOptions options;

  CsvTable(CsvOptions options) {
    this.options = options;
  }

  /** Work on the records of a file. */
  private interface Work {
    void on(CsvRecords records) throws IOException;
  }

  private void forEachFile(Work work) {
    for (int i = 0; i < options.paths().size(); i++) {
      Path path = options.paths().get(i);
      CsvText text = new CsvText(path, options.source(i));
      try (CsvRecords records = CsvRecords.open(text, options)) {
        work.on(records);
      } catch (IOException e) {
        throw unreadable(text, e);
      } catch (UncheckedIOException e) { // thrown by FastCSV, which names the record
        throw unreadable(text, requireNonNull(e.getCause(), "cause"));
      } catch (CsvParseException e) {
        throw new IllegalArgumentException(
            "%s is not CSV: %s".formatted(path, Failures.reason(e)), e);
      }
    }
  }

  private static RuntimeException unreadable(CsvText text, IOException e) {
    if (e instanceof CharacterCodingException) {
      String other = text.otherFormat();
      if (!other.isEmpty()) {
        return new IllegalArgumentException("%s is not CSV%s".formatted(text.path(), other), e);
      }
      try {
        return new IllegalArgumentException(
            ("%s, line %d: the text must be UTF-8, or UTF-16 with a byte-order mark; convert it, for"
                    + " example by iconv -f ISO-8859-1 -t UTF-8")
                .formatted(text.path(), text.badLine()),
            e);
      } catch (IOException again) {
        return unreadable(text.path(), again);
      }
    }
    return unreadable(text.path(), e);
  }

  private static UncheckedIOException unreadable(Path path, IOException e) {
    return new UncheckedIOException("cannot read %s: %s".formatted(path, Failures.reason(e)), e);
  }

  /** Reads the columns of a table; see {@link CsvFile#read}. */
  TableRows read(TableColumns columns) {
    List<String> names = columns.names();
    RowPlaces lines = new RowPlaces(options.paths());
    TableRows.Collector rows = TableRows.collector(columns, options::number, lines::of);
    forEachFile(
        records -> {
          lines.nextFile(rows.size());
          int[] places = records.places(names);
          @Nullable Object[] values = new @Nullable Object[places.length];
          while (records.hasNext()) {
            CsvRow record = records.next();
            try {
              records.requireFields(record);
              for (int i = 0; i < places.length; i++) {
                CharSequence field = record.field(places[i]);
                values[i] = options.isMissing(field) ? null : field;
              }
              rows.add(values);
              lines.add(record.line());
            } catch (FieldException e) {
              options.refuse(e);
            } catch (TableValueException e) {
              options.refuse(
                  records.wrong(
                      record,
                      "column " + e.column(),
                      record.text(places[names.indexOf(e.column())]),
                      e.problem()));
            }
          }
        });
    return rows.rows();
  }

  /** Reads columns of numbers; see {@link CsvFile#load}. */
  TensorDataset load(CsvColumn... columns) {
    List<RowSpec> rows =
        Checks.copyOf("columns", Arrays.asList(columns)).stream().map(CsvColumn::row).toList();
    long[] counts = new long[1];
    forEachFile(
        records -> {
          places(records, columns);
          while (records.hasNext()) {
            records.next();
            counts[0]++;
          }
        });
    int count = Math.toIntExact(counts[0]);
    Slab.requireFits(rows, Math.max(1, count));
    try (Slab slab = Slab.allocate(rows, Math.max(1, count))) {
      return dataset(slab, fill(slab, count, columns)).withNames(names(rows));
    }
  }

  /** Returns, for each column, the fields of a record that it takes. */
  private static List<int[]> places(CsvRecords records, CsvColumn... columns) {
    List<int[]> places = new ArrayList<>();
    for (CsvColumn column : columns) {
      places.add(records.places(column.names()));
    }
    return places;
  }

  private int fill(Slab slab, int count, CsvColumn... columns) {
    SlabSampleWriter writer = new SlabSampleWriter(BatchLayout.of(slab.columns(), List.of(), null));
    int[] rows = new int[2]; // filled, left out
    forEachFile(
        records -> {
          List<int[]> places = places(records, columns);
          while (records.hasNext()) {
            CsvRow record = records.next();
            if (rows[0] + rows[1] == count) {
              throw new IOException("it grew while it was read");
            }
            try {
              records.requireFields(record);
              writer.begin(slab, rows[0], 0, 0, rows[0]);
              for (int column = 0; column < columns.length; column++) {
                put(records, record, places.get(column), column, columns[column], writer);
              }
              writer.end();
              rows[0]++;
            } catch (FieldException e) {
              options.refuse(e);
              rows[1]++;
            }
          }
        });
    if (rows[0] + rows[1] != count) {
      Path last = options.paths().get(options.paths().size() - 1);
      throw unreadable(last, new IOException("it shrank while it was read"));
    }
    return rows[0];
  }

  private static void put(
      CsvRecords records,
      CsvRow record,
      int[] places,
      int column,
      CsvColumn rule,
      SampleWriter writer) {
    for (int i = 0; i < places.length; i++) {
      String field = record.text(places[i]);
      try {
        FieldFormat.put(writer, column, rule.dtype(), field);
      } catch (NumberFormatException e) {
        throw records.wrong(
            record, "column " + rule.names().get(i), field, FieldFormat.rule(rule.dtype()));
      }
    }
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
