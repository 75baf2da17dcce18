// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.torchfeed.text.LineCursor;
import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The head of a file in the Matrix Market format, {@code %%MatrixMarket matrix coordinate real
 * general} and the line of sizes: the meaning of its entries, and where they begin. Immutable.
 *
 * <p>Source: R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange Formats", NIST
 * (1996). Files of complex numbers and dense arrays are refused, since an edge has one weight.
 */
final class MatrixMarket {
  private static final byte[] BANNER = "%%matrixmarket".getBytes(US_ASCII);
  private static final Pattern BLANKS = Pattern.compile("\\s+");
  private static final Set<String> NUMBERS = Set.of("real", "integer", "unsigned-integer");

  /** The entries that a file leaves out, since others determine them. */
  private enum Symmetry {
    GENERAL,
    SYMMETRIC,
    SKEW_SYMMETRIC
  }

  private final boolean isPattern;
  private final Symmetry symmetry;
  private final LineOptions.LineError sizes;
  private final long rows;
  private final long columns;
  private final long entries;

  private MatrixMarket(
      boolean isPattern, Symmetry symmetry, LineOptions.LineError sizes, List<Long> numbers) {
    this.isPattern = isPattern;
    this.symmetry = symmetry;
    this.sizes = sizes;
    rows = numbers.get(0);
    columns = numbers.get(1);
    entries = numbers.get(2);
  }

  /**
   * Reads the head of the files of a plan.
   *
   * @return null if the file does not begin as a Matrix Market file
   * @throws LineException if the head breaks a rule of the format, or its entries cannot be edges
   *     by these rules
   */
  static @Nullable MatrixMarket of(TextPartition plan, EdgeRules rules, boolean bothEnds) {
    try (LineCursor lines = plan.openAll(rules.lines())) {
      if (!lines.next() || !begins(lines)) {
        return null;
      }
      requireUsable(lines, plan, rules);
      return read(lines, bothEnds);
    }
  }

  /** Returns whether the line is the first one of a Matrix Market file. */
  static boolean begins(LineCursor line) {
    if (line.length() < BANNER.length || line.offset() > 0) {
      return false;
    }
    byte[] bytes = line.bytes();
    for (int i = 0; i < BANNER.length; i++) {
      if (Character.toLowerCase(bytes[line.start() + i]) != BANNER[i]) {
        return false;
      }
    }
    return true;
  }

  private static void requireUsable(LineCursor line, TextPartition plan, EdgeRules rules) {
    if (plan.files().size() > 1) {
      throw severalFiles(line);
    }
    if (rules.ids() != IdMap.Kind.NUMBER || rules.mixed()) {
      throw refused(
          line,
          "a Matrix Market file has rows and columns as ids, and one entry in a line; it needs ids"
              + " of kind NUMBER and lines that are not mixed, got ids of kind %s and %s"
                  .formatted(rules.ids(), rules.mixed() ? "mixed lines" : "lines that are not"));
    }
  }

  /** Creates the exception of a matrix beside another file. */
  static LineException severalFiles(LineCursor line) {
    return refused(
        line, "a Matrix Market file is a matrix of its own, and must be the only file of a plan");
  }

  private static MatrixMarket read(LineCursor lines, boolean bothEnds) {
    List<String> words = words(lines);
    String field = words.size() == 5 ? words.get(3) : "";
    Symmetry symmetry = words.size() == 5 ? symmetry(words.get(4)) : null;
    boolean isPattern = field.equals("pattern");
    if (symmetry == null
        || !words.get(1).equals("matrix")
        || !words.get(2).equals("coordinate")
        || !(isPattern || NUMBERS.contains(field))
        || (isPattern && symmetry == Symmetry.SKEW_SYMMETRIC)) {
      throw refused(
          lines,
          "a Matrix Market file of edges must begin with %%MatrixMarket matrix coordinate, followed"
              + " by real, integer or pattern, and by general, symmetric or, with values,"
              + " skew-symmetric; write other matrices so, for example by scipy.io.mmwrite of a"
              + " coo_array with field=\"real\"");
    }
    if (bothEnds && symmetry == Symmetry.SKEW_SYMMETRIC) {
      throw refused(
          lines,
          "the edges of a skew-symmetric matrix have directions, and cannot be loaded at both ends;"
              + " use EdgeLoader.load");
    }
    // At both ends, an edge stands for both of its directions.
    Symmetry read = bothEnds ? Symmetry.GENERAL : symmetry;
    LineOptions.LineError cut =
        lines.error("a line of sizes must follow, but the file ends: it is cut");
    while (lines.next()) {
      String text = lines.text().strip();
      if (!text.isEmpty() && !text.startsWith("%")) {
        String rule = "must be three numbers: rows, columns and entries of the matrix";
        return new MatrixMarket(isPattern, read, lines.error(rule), numbers(lines, rule));
      }
    }
    throw new LineException(cut);
  }

  private static @Nullable Symmetry symmetry(String word) {
    return switch (word) {
      case "general" -> Symmetry.GENERAL;
      case "symmetric" -> Symmetry.SYMMETRIC;
      case "skew-symmetric" -> Symmetry.SKEW_SYMMETRIC;
      default -> null;
    };
  }

  private static List<String> words(LineCursor line) {
    return BLANKS.splitAsStream(line.text().strip().toLowerCase(Locale.ROOT)).toList();
  }

  private static List<Long> numbers(LineCursor line, String rule) {
    try {
      List<Long> numbers = words(line).stream().map(Long::valueOf).toList();
      if (numbers.size() == 3 && numbers.stream().allMatch(number -> number >= 0)) {
        return numbers;
      }
    } catch (NumberFormatException e) {
      throw new LineException(line.error(rule), e);
    }
    throw refused(line, rule);
  }

  private static LineException refused(LineCursor line, String problem) {
    return new LineException(line.error(problem));
  }

  /** Returns the rules of the entries of this file. */
  EdgeRules rules(EdgeRules asked) {
    return new EdgeRules(
        asked.pattern(),
        false,
        IdMap.Kind.NUMBER,
        asked.hash(),
        LineParser.separatedBy(" \t"),
        isPattern ? 2 : 3,
        ByteSet.none(),
        new ByteSet("comments", "%"),
        asked.errors(),
        asked.lines(),
        asked.roundBytes());
  }

  /** Returns the offset of the line of sizes, behind which the entries begin. */
  long sizesOffset() {
    return sizes.offset();
  }

  /** Returns the rule that an entry breaks, or null. */
  @Nullable String problemOf(long row, long column) {
    return row < 1 || row > rows || column < 1 || column > columns
        ? "an entry must be in [1, %d] x [1, %d], got (%s, %s)"
            .formatted(rows, columns, Long.toUnsignedString(row), Long.toUnsignedString(column))
        : null;
  }

  /** Returns whether entries off the diagonal have a mirrored one that the file leaves out. */
  boolean isMirrored() {
    return symmetry != Symmetry.GENERAL;
  }

  /** Returns the value of the mirrored entry. */
  double mirrored(double value) {
    return symmetry == Symmetry.SKEW_SYMMETRIC ? -value : value;
  }

  /**
   * Requires the promised number of entries.
   *
   * @throws LineException if there are more or fewer
   */
  void requireEntries(long found) {
    if (found != entries) {
      throw new LineException(
          new LineOptions.LineError(
              sizes.path(),
              sizes.lineNumber(),
              sizes.offset(),
              sizes.text(),
              "%d entries must follow, got %d: the file is cut, or two were joined"
                  .formatted(entries, found)));
    }
  }
}
