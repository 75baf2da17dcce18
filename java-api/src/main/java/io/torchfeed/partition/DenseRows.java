// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.DoubleBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Dense rows, one a line: {@code id,x1,…,xk}. One rank's part: the lines that it reads, in their
 * order, for they are not exchanged. Immutable. 8 bytes a value.
 *
 * <p>All rows have the width of the first line of the first file, on all ranks.
 */
public final class DenseRows {
  private static final int MOST_VALUES = Integer.MAX_VALUE - 8;

  private final List<String> ids;
  private final int width;
  private final double[] values;
  private final LineErrors errors;

  DenseRows(List<String> ids, int width, double[] values, LineErrors errors) {
    this.ids = ids;
    this.width = width;
    this.values = values;
    this.errors = errors;
  }

  /**
   * Reads the rows of one rank.
   *
   * @param plan who reads which bytes, of the pattern {@link LinePattern#FVEC}
   * @param rank this rank, in [0, worldSize - 1]
   * @param parser splits lines into the id and the values
   * @param onError what happens at a line that breaks a rule: no row of numbers, or of another
   *     width than the first line of all
   * @return the rows
   * @throws LineException if a line breaks a rule and the policy is to fail, or the first line of
   *     all does
   * @throws TextFileException if a file is no longer as it was planned, or cannot be read
   * @throws IllegalArgumentException if there is no such rank
   * @throws IllegalStateException if the values are too many for a Java array
   */
  public static DenseRows read(
      TextPartition plan, int rank, LineParser parser, ErrorPolicy onError) {
    Fields fields = new Fields();
    int width = width(plan, parser, fields);
    List<String> ids = new ArrayList<>();
    double[] values = new double[1024];
    ErrorLog errors = new ErrorLog(onError);
    try (LineCursor line = plan.open(rank)) {
      while (line.next()) {
        int used = ids.size() * width;
        values = withRoom(values, used, width);
        try {
          ids.add(parse(line, parser, fields, width, values, used));
        } catch (MalformedLineException e) {
          errors.add(line, e);
        }
      }
    }
    return new DenseRows(
        List.copyOf(ids), width, Arrays.copyOf(values, ids.size() * width), errors.errors());
  }

  /** The number of values in the first line of all. */
  private static int width(TextPartition plan, LineParser parser, Fields fields) {
    try (LineCursor line = plan.openAll()) {
      if (!line.next()) {
        return 0;
      }
      fields.clear();
      try {
        parser.parse(line.bytes(), line.start(), line.end(), fields);
        requireId(fields.count());
      } catch (MalformedLineException e) {
        throw new LineException(line.error(String.valueOf(e.getMessage())), e);
      }
      return fields.count() - 1;
    }
  }

  private static void requireId(int count) {
    if (count < 1) {
      throw new MalformedLineException("a row must have an id, got a blank line");
    }
  }

  private static double[] withRoom(double[] values, int used, int width) {
    long needed = (long) used + width;
    if (needed <= values.length) {
      return values;
    }
    if (needed > MOST_VALUES) {
      throw new IllegalStateException(
          "a rank must have %d values at most, got more; use more ranks".formatted(MOST_VALUES));
    }
    return Arrays.copyOf(values, (int) Math.min(MOST_VALUES, Math.max(needed, 2L * values.length)));
  }

  private static String parse(
      LineCursor line, LineParser parser, Fields fields, int width, double[] into, int at) {
    byte[] bytes = line.bytes();
    fields.clear();
    parser.parse(bytes, line.start(), line.end(), fields);
    requireId(fields.count());
    if (fields.count() - 1 != width) {
      throw new MalformedLineException(
          "a row must have the %d values of the first one, got %d"
              .formatted(width, fields.count() - 1));
    }
    Utf8.require(bytes, fields.start(0), fields.end(0));
    for (int i = 0; i < width; i++) {
      into[at + i] = Numbers.weight(bytes, fields.start(i + 1), fields.end(i + 1));
    }
    return new String(bytes, fields.start(0), fields.end(0) - fields.start(0), UTF_8);
  }

  /**
   * The number of rows.
   *
   * @return at least 0
   */
  public int rows() {
    return ids.size();
  }

  /**
   * The number of values in a row.
   *
   * @return at least 0; 0 if the files have no line
   */
  public int width() {
    return width;
  }

  /**
   * The ids of the rows; the same id may be there several times.
   *
   * @return the ids, by row
   */
  public List<String> ids() {
    return ids;
  }

  /**
   * One value.
   *
   * @param row the row, in [0, rows - 1]
   * @param column its column, in [0, width - 1]
   * @return the value
   * @throws IndexOutOfBoundsException if there is no such value
   */
  public double value(int row, int column) {
    return values[row * width + Objects.checkIndex(column, width)];
  }

  /**
   * All values, row by row.
   *
   * @return a copy, float64 [rows, width]
   */
  public double[] values() {
    return values.clone();
  }

  /**
   * All values, row by row.
   *
   * @return a read-only view, float64 [rows · width]
   */
  public DoubleBuffer valuesView() {
    return DoubleBuffer.wrap(values).asReadOnlyBuffer();
  }

  /**
   * The lines that were left out.
   *
   * @return the errors; none if the policy is to fail
   */
  public LineErrors errors() {
    return errors;
  }
}
