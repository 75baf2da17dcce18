// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.DType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The files of src/test/golden/parquet_files.py, and their values in pyarrow. */
final class Golden {
  static final int ROWS = 30;
  static final int GROUPS = 3;
  private static final Pattern TAB = Pattern.compile("\t");

  private Golden() {}

  /**
   * A column.
   *
   * @param column how to read it
   * @param bytes of all rows, in hexadecimal
   */
  record Expected(ParquetColumn column, String bytes) {}

  static Path file(String name) {
    try {
      return Path.of(requireNonNull(Golden.class.getResource("/golden/" + name)).toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  static boolean isList(Expected column) {
    return column.column().row().name().equals("list");
  }

  /** Returns the Parquet files. */
  static List<Path> files() {
    Path folder = requireNonNull(file("values.txt").getParent());
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(Golden::isTable).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isTable(Path file) {
    return file.toString().endsWith(".parquet") && !file.toString().endsWith(".png.parquet");
  }

  static List<Expected> columns() {
    try {
      return Files.readAllLines(file("values.txt")).stream().map(Golden::expected).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Expected expected(String line) {
    String[] fields = TAB.split(line, -1);
    long[] shape =
        Stream.of(fields[3].split(" ", -1))
            .filter(each -> !each.isEmpty())
            .mapToLong(Long::parseLong)
            .toArray();
    ParquetColumn column =
        ParquetColumn.of(fields[1], DType.valueOf(fields[2].toUpperCase(Locale.ROOT)), shape)
            .withName(fields[0]);
    return new Expected(
        fields[4].isEmpty() ? column : column.withMissingValue(Double.parseDouble(fields[4])),
        fields[5]);
  }
}
