// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import java.nio.DoubleBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Dense rows, one per line: {@code id,x1,…,xk}. Holds one rank's part: the lines that it reads, in
 * order; rows are not exchanged between ranks. Takes 8 bytes per value. Immutable.
 *
 * <p>On all ranks, rows have the width of the first line of all files.
 */
public final class DenseRows {
  static final int MAX_VALUES = Integer.MAX_VALUE - 8;

  private final List<String> ids;
  private final int width;
  private final double[] values;
  private final Edges.LineErrors errors;

  DenseRows(List<String> ids, int width, double[] values, Edges.LineErrors errors) {
    this.ids = ids;
    this.width = width;
    this.values = values;
    this.errors = errors;
  }

  /**
   * Reads the rows of one rank with {@link LineOptions#defaults}.
   *
   * @param plan assigns the bytes to ranks, with the pattern {@link LinePattern#ROWS}
   * @param rank this rank, in [0, worldSize - 1]
   * @param parser splits lines into the id and the values
   * @param onError how to treat a malformed line: one that is not a row of numbers, or whose width
   *     differs from the very first line's
   * @return the rows
   * @throws LineException if a line is malformed and the policy is to fail, or the very first line
   *     is malformed
   * @throws io.torchfeed.text.TextFileException if a file has changed since it was planned, or
   *     cannot be read
   * @throws IllegalArgumentException if there is no such rank
   * @throws IllegalStateException if there are too many values for a Java array
   */
  public static DenseRows read(
      TextPartition plan, int rank, LineParser parser, ErrorPolicy onError) {
    requireNonNull(onError, "onError");
    requireNonNull(parser, "parser");
    requireNonNull(plan, "plan");
    return read(plan, rank, parser, onError, LineOptions.defaults());
  }

  /**
   * Reads the rows of one rank.
   *
   * @param plan assigns the bytes to ranks, with the pattern {@link LinePattern#ROWS}
   * @param rank this rank, in [0, worldSize - 1]
   * @param parser splits lines into the id and the values
   * @param onError how to treat a malformed line: one that is not a row of numbers, or whose width
   *     differs from the very first line's
   * @param lines how to read lines, for example with a higher limit on their length
   * @return the rows
   * @throws LineException if a line is malformed and the policy is to fail, the very first line is
   *     malformed, or a line is too long
   * @throws io.torchfeed.text.TextFileException if a file has changed since it was planned, or
   *     cannot be read
   * @throws IllegalArgumentException if there is no such rank
   * @throws IllegalStateException if there are too many values for a Java array
   */
  public static DenseRows read(
      TextPartition plan, int rank, LineParser parser, ErrorPolicy onError, LineOptions lines) {
    requireNonNull(lines, "lines");
    requireNonNull(onError, "onError");
    requireNonNull(parser, "parser");
    requireNonNull(plan, "plan");
    LineParser.Fields fields = new LineParser.Fields();
    int width = width(plan, parser, fields, lines);
    List<String> ids = new ArrayList<>();
    double[] values = new double[1024];
    ErrorLog errors = new ErrorLog(onError);
    try (LineCursor line = plan.open(rank, lines)) {
      while (line.next()) {
        int used = ids.size() * width;
        values = withRoom(values, used, width);
        try {
          ids.add(parse(line, parser, fields, width, values, used));
        } catch (LineParser.MalformedLineException e) {
          errors.add(line, e);
        }
      }
    }
    return new DenseRows(
        List.copyOf(ids), width, Arrays.copyOf(values, ids.size() * width), errors.errors());
  }

  /** Returns the number of values in the very first line. */
  private static int width(
      TextPartition plan, LineParser parser, LineParser.Fields fields, LineOptions lines) {
    try (LineCursor line = plan.openAll(lines)) {
      if (!line.next()) {
        return 0;
      }
      fields.begin(line.start(), line.end());
      try {
        parser.parse(line.bytes(), line.start(), line.end(), fields);
        requireId(fields.count());
      } catch (LineParser.MalformedLineException e) {
        throw new LineException(line.error(String.valueOf(e.getMessage())), e);
      }
      return fields.count() - 1;
    }
  }

  private static void requireId(int count) {
    if (count < 1) {
      throw new LineParser.MalformedLineException("a row must have an id, got a blank line");
    }
  }

  private static double[] withRoom(double[] values, int used, int width) {
    long needed = (long) used + width;
    if (needed <= values.length) {
      return values;
    }
    if (needed > MAX_VALUES) {
      throw new IllegalStateException(
          "a rank must have at most %d values, got more; use more ranks".formatted(MAX_VALUES));
    }
    return Arrays.copyOf(values, (int) Math.min(MAX_VALUES, Math.max(needed, 2L * values.length)));
  }

  private static String parse(
      LineCursor line,
      LineParser parser,
      LineParser.Fields fields,
      int width,
      double[] into,
      int at) {
    byte[] bytes = line.bytes();
    fields.begin(line.start(), line.end());
    parser.parse(bytes, line.start(), line.end(), fields);
    requireId(fields.count());
    if (fields.count() - 1 != width) {
      throw new LineParser.MalformedLineException(
          "a row must have %d values, like the first one, got %d"
              .formatted(width, fields.count() - 1));
    }
    Utf8.require(bytes, fields.start(0), fields.end(0));
    for (int i = 0; i < width; i++) {
      into[at + i] = Numbers.weight(bytes, fields.start(i + 1), fields.end(i + 1));
    }
    return new String(bytes, fields.start(0), fields.end(0) - fields.start(0), UTF_8);
  }

  /**
   * Returns the number of rows.
   *
   * @return the number, at least 0
   */
  public int rows() {
    return ids.size();
  }

  /**
   * Returns the number of values in a row.
   *
   * @return the number, at least 0; 0 if the files have no lines
   */
  public int width() {
    return width;
  }

  /**
   * Returns the ids of the rows; an id may occur several times.
   *
   * @return the ids, by row
   */
  public List<String> ids() {
    return ids;
  }

  /**
   * Returns one value.
   *
   * @param row the row, in [0, rows - 1]
   * @param column its column, in [0, width - 1]
   * @return the value
   * @throws IndexOutOfBoundsException if there is no such value
   */
  public double value(int row, int column) {
    int start = Checks.requireIndex("row", row, ids.size()) * width;
    return values[start + Checks.requireIndex("column", column, width)];
  }

  /**
   * Returns all values, row by row.
   *
   * @return a copy, float64 [rows, width]
   */
  public double[] values() {
    return values.clone();
  }

  /**
   * Returns all values, row by row.
   *
   * @return a read-only view, float64 [rows · width]
   */
  public DoubleBuffer valuesView() {
    return DoubleBuffer.wrap(values).asReadOnlyBuffer();
  }

  /**
   * Returns the lines that were skipped.
   *
   * @return the errors; empty if the policy is to fail
   */
  public Edges.LineErrors errors() {
    return errors;
  }
}
