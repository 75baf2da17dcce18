// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.internal.Checks;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * A file of comma-separated values with names in the first line (RFC 4180: fields may be quoted),
 * in UTF-8.
 *
 * <p>{@link #read} reads columns with missing values, categories or dates, for a {@link
 * TableColumns}; {@link #load} reads numbers of any dtype, none of them missing. A file that is
 * compressed by gzip is recognized by its first bytes. Empty lines are left out, also in a file of
 * one column; there, a missing value is {@code ""}. A byte-order mark tells UTF-16.
 *
 * <p>A file is loaded as a whole: numbers take less space than their text, and rows in memory can
 * be gathered in any order by the native engine. For {@link #load} the file is read twice, first to
 * count the rows; only the tensors are held in memory. For files that do not fit, use {@link
 * TextLines} with {@link TextRows}.
 *
 * <p>Numbers are decimal and in ASCII, as Python's {@code float} and {@code int} read them: an
 * optional sign, digits and, in floating point, a decimal point and an exponent such as {@code
 * e-3}, or {@code inf}, {@code infinity} or {@code nan} in any case. A number outside the range of
 * its dtype is an error, as is one that would round to infinity; a number too small for its dtype
 * becomes zero. Hexadecimal digits, underscores and type suffixes are errors. A bool is true,
 * false, 1 or 0.
 *
 * <p>The parser is FastCSV, an optional dependency: {@code de.siegmar:fastcsv}, tried with version
 * 4.4.0.
 */
public final class CsvFile {
  private final CsvOptions options;

  private CsvFile(CsvOptions options) {
    this.options = options;
  }

  /**
   * Returns a file whose fields are separated by commas, or several that are read one after the
   * other. Each has names in its first line, in any order.
   *
   * @param path the file
   * @param others more files
   * @return the file, not yet read
   */
  public static CsvFile of(Path path, Path... others) {
    List<Path> paths = new ArrayList<>(List.of(requireNonNull(path, "path")));
    paths.addAll(Checks.copyOf("others", Arrays.asList(requireNonNull(others, "others"))));
    return new CsvFile(CsvOptions.of(paths));
  }

  /**
   * Returns a file of a source, or several that are read one after the other, as {@link #of(Path,
   * Path...)}. Of a store, {@link io.torchfeed.storage.ReadAhead} reads it at the rate of the line;
   * {@link #load} reads it twice, which {@link io.torchfeed.storage.CachedSource} makes once.
   *
   * @param source borrowed; the caller closes it after the last read
   * @param others more sources
   * @return the file, not yet read
   * @throws IllegalArgumentException if the name of a source is no path
   */
  public static CsvFile of(ByteSource source, ByteSource... others) {
    List<ByteSource> sources = new ArrayList<>(List.of(requireNonNull(source, "source")));
    sources.addAll(Checks.copyOf("others", Arrays.asList(requireNonNull(others, "others"))));
    return new CsvFile(CsvOptions.ofSources(sources));
  }

  /**
   * Returns the same file with another separator, for example a tab.
   *
   * @param character the separator between fields
   * @return the file, not yet read
   */
  public CsvFile separatedBy(char character) {
    return new CsvFile(options.withSeparator(character));
  }

  /**
   * Returns the same file with lines that are comments, which are left out.
   *
   * @param character the first character of such a line, for example {@code #}
   * @return the file, not yet read
   */
  public CsvFile withComments(char character) {
    return new CsvFile(options.withComment(character));
  }

  /**
   * Returns the same file with words that stand for a missing value, beside the empty field. They
   * are for {@link #read}.
   *
   * @param words as they are in the file, for example {@code NA}; they replace earlier ones
   * @return the file, not yet read
   */
  public CsvFile withMissingWords(String... words) {
    return new CsvFile(
        options.withMissing(Checks.copyOf("words", Arrays.asList(requireNonNull(words, "words")))));
  }

  /**
   * Returns the same file with a comma in place of the decimal point of numbers that {@link #read}
   * reads. A point in a number is an error.
   *
   * @return the file, not yet read
   */
  public CsvFile withDecimalComma() {
    return new CsvFile(options.withComma());
  }

  /**
   * Returns the same file without the rows that have too many or too few fields, or a field that
   * does not fit its column; by default, the first of them is an error.
   *
   * @param report receives the problem of each, with its line, in their order
   * @return the file, not yet read
   */
  public CsvFile withSkippedRows(Consumer<? super FieldException> report) {
    return new CsvFile(options.withReport(requireNonNull(report, "report")));
  }

  /**
   * Reads columns of the file; others are left out. White space around fields is ignored.
   *
   * @param columns the columns to read, at least one
   * @return a dataset with a column for each of these and a row for each record; a column of one
   *     name has that name, unless it is loaded twice. The caller closes the dataset
   * @throws FieldException if a record has more or fewer fields than names, or a field is not a
   *     number of its column's dtype
   * @throws IllegalArgumentException if the path is not a regular file, a name does not match
   *     exactly one column, a quote is not closed, also in a column that is left out, or a field or
   *     record exceeds the limits of FastCSV; the message names the line
   * @throws java.io.UncheckedIOException if the file cannot be read
   * @throws IllegalStateException if there is not enough memory, or FastCSV is missing
   */
  public TensorDataset load(CsvColumn... columns) {
    requireNonNull(columns, "columns");
    requireFastCsv();
    return new CsvTable(options).load(columns);
  }

  /**
   * Reads the columns of a table once: numbers, categories and dates, with missing values. White
   * space around fields is ignored; an empty field is a missing value.
   *
   * @param columns the tensors to make, and from which columns; others are left out
   * @return the rows
   * @throws FieldException as {@link #load}, or if a missing value is refused
   * @throws IllegalArgumentException as {@link #load}
   * @throws java.io.UncheckedIOException if the file cannot be read
   * @throws IllegalStateException if FastCSV is missing
   */
  public TableRows read(TableColumns columns) {
    requireNonNull(columns, "columns");
    requireFastCsv();
    return new CsvTable(options).read(columns);
  }

  /** Fails for its absence before a class is loaded that needs it. */
  private static void requireFastCsv() {
    try {
      requireNonNull(FieldMismatchStrategy.class.getName());
    } catch (NoClassDefFoundError e) {
      throw new IllegalStateException(
          "CSV needs FastCSV; add the dependency de.siegmar:fastcsv, version 4.4.0", e);
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
      names = Checks.copyOf("names", names);
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
      return new CsvColumn(dtype, Arrays.asList(names));
    }

    RowSpec row() {
      return names.size() == 1 ? RowSpec.of(names.get(0), dtype) : RowSpec.of(dtype, names.size());
    }
  }
}
