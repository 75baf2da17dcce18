// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvRecord;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.balance.Costs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A column of a CSV file, read as costs.
 *
 * <p>Whole numbers stay as they are. If any cost has a fraction, all are multiplied by one scale
 * and rounded, because balance depends only on their ratios.
 */
final class CostFile {
  private static final double MAX_WHOLE = 1L << 42;
  private static final int MAX_SHOWN = 40;
  private static final double MAX_OF_FRACTIONS = 1_000_000;

  private final Path file;
  private final String column;
  private int number = -1; // index of the column, from 0
  private double[] costs = new double[1024];
  private int count;
  private double largest;
  private boolean isWhole = true;

  private CostFile(Path file, String column) {
    this.file = file;
    this.column = column;
  }

  /**
   * Reads a file.
   *
   * @param column the name of a column in the first line, or its number, starting at 1
   * @throws CommandException if the file or column is missing, or a cost is not a number, negative
   *     or not finite
   */
  static Costs read(Path file, String column) {
    CostFile reading = new CostFile(file, column);
    reading.read();
    return reading.costs();
  }

  private void read() {
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      throw CommandException.wrongUse(
          "there is no readable file %s; pass the path of a CSV file".formatted(file));
    }
    try (CsvReader<CsvRecord> csv = reader().ofCsvRecord(file)) {
      for (CsvRecord line : csv) {
        if (number >= 0 || !isHeader(line)) {
          add(line);
        }
      }
    } catch (CharacterCodingException e) {
      throw CommandException.wrongUse("%s is not UTF-8 text".formatted(file), e);
    } catch (IOException | UncheckedIOException | CsvParseException e) {
      throw CommandException.wrongUse("cannot read %s: %s".formatted(file, e.getMessage()), e);
    }
    if (count == 0) {
      throw CommandException.wrongUse(
          "%s holds no costs; it needs one line per sample".formatted(file));
    }
  }

  private static CsvReader.CsvReaderBuilder reader() {
    return CsvReader.builder()
        .skipEmptyLines(true)
        .detectBomHeader(true)
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE);
  }

  /** Finds the column in the first line; returns whether that line only names the columns. */
  private boolean isHeader(CsvRecord first) {
    List<String> names = first.getFields().stream().map(String::strip).toList();
    number = names.indexOf(column);
    if (number >= 0 && parse(column) == null) {
      return true;
    }
    number = numberOfColumn(names);
    return parse(first.getField(number)) == null;
  }

  private int numberOfColumn(List<String> names) {
    int columns = names.size();
    if (column.matches("[0-9]{1,9}")) {
      int wanted = Integer.parseInt(column);
      if (wanted >= 1 && wanted <= columns) {
        return wanted - 1;
      }
      throw CommandException.wrongUse(
          "--column must be in [1, %d] in %s, got %s".formatted(columns, file, column));
    }
    throw CommandException.wrongUse(
        "%s has no column %s; it has %s".formatted(file, column, String.join(", ", names)));
  }

  private void add(CsvRecord line) {
    if (line.getFieldCount() <= number) {
      throw wrong(line, "column %d is missing".formatted(number + 1));
    }
    String text = line.getField(number);
    double cost = parseWhole(text);
    if (cost < 0) {
      cost = parseAny(line, text);
    }
    if (count == costs.length) {
      costs = Arrays.copyOf(costs, (int) Math.min(Integer.MAX_VALUE - 8, count * 2L));
    }
    costs[count++] = cost;
    largest = Math.max(largest, cost);
  }

  /** Returns the value of up to 12 digits, or -1 for any other text. */
  private static double parseWhole(String text) {
    int length = text.length();
    if (length == 0 || length > 12) {
      return -1;
    }
    long value = 0;
    for (int i = 0; i < length; i++) {
      int digit = text.charAt(i) - '0';
      if (digit < 0 || digit > 9) {
        return -1;
      }
      value = 10 * value + digit;
    }
    return value;
  }

  private double parseAny(CsvRecord line, String text) {
    Double cost = parse(text);
    if (cost == null) {
      throw wrong(line, "a cost must be a number, got '%s'".formatted(shown(text)));
    }
    if (!(cost >= 0 && cost <= Double.MAX_VALUE)) {
      throw wrong(line, "a cost must be at least 0 and finite, got %s".formatted(text.strip()));
    }
    isWhole &= cost == Math.rint(cost);
    return cost;
  }

  private static @Nullable Double parse(String text) {
    try {
      return Double.valueOf(text.strip());
    } catch (NumberFormatException e) {
      return null;
    }
  }

  /** Returns the first characters, in one line. */
  private static String shown(String text) {
    return text.substring(0, Math.min(text.length(), MAX_SHOWN)).replaceAll("\\p{Cntrl}", " ");
  }

  private CommandException wrong(CsvRecord line, String what) {
    return CommandException.wrongUse(
        "%s, line %d: %s".formatted(file, line.getStartingLineNumber(), what));
  }

  private Costs costs() {
    if (isWhole && largest >= MAX_WHOLE) {
      throw CommandException.wrongUse(
          String.format(Locale.ROOT, "a cost must be below 2^42, got %.0f in %s", largest, file));
    }
    double scale = isWhole || largest == 0 ? 1 : MAX_OF_FRACTIONS / largest;
    return Costs.ofDoubles(Arrays.copyOf(costs, count), scale);
  }
}
