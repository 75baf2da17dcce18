// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;

/**
 * A parser that splits lines into fields. Must be thread-safe if several ranks of one process use
 * it.
 *
 * <p>{@link #separatedBy} returns the usual parser.
 */
@FunctionalInterface
public interface LineParser {
  /**
   * Thrown by a {@link LineParser} when the text of a line breaks a rule. The reader adds the file,
   * the line number and the offset, and applies the {@link ErrorPolicy}.
   */
  public static final class MalformedLineException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param problem the rule and the value found
     */
    public MalformedLineException(String problem) {
      super(requireNonNull(problem, "problem"));
    }
  }

  /**
   * Finds the fields of a line.
   *
   * @param line holds the line; must not be modified or retained
   * @param start the position of its first byte
   * @param end the position after its last byte
   * @param fields receives the fields, in order; empty when the method is called
   * @throws MalformedLineException if the line breaks a rule of the parser
   */
  void parse(byte[] line, int start, int end, Fields fields);

  /**
   * Returns a parser of fields with one separator between each two. A blank line has no fields. If
   * a space is a separator, a run of spaces, and of tabs if those are separators, too, counts as
   * one, and at the ends of a line or beside another separator as none.
   *
   * @param separators ASCII characters, each of which separates fields; at least one
   * @return the parser, thread-safe
   * @throws IllegalArgumentException if there is none, or one is not ASCII or is the newline
   */
  static LineParser separatedBy(String separators) {
    requireNonNull(separators, "separators");
    return new SeparatedFields(separators);
  }

  /** The fields of one line, as ranges of its bytes. Not thread-safe. */
  public static final class Fields {
    private int[] bounds = new int[16];
    private int count;

    /** The positions of the line; outside of them, the buffer holds other lines. */
    private int lineStart;

    private int lineEnd;

    Fields() {}

    /**
     * Adds the next field.
     *
     * @param start the position of its first byte, in the line
     * @param end the position after its last byte, at least {@code start} and in the line
     * @throws MalformedLineException if the range is not within the line
     */
    public void add(int start, int end) {
      if (start < lineStart || end < start || end > lineEnd) {
        throw new MalformedLineException(
            ("field %d must be within the line, whose bytes are at [%d, %d), got [%d, %d); correct"
                    + " the LineParser")
                .formatted(count, lineStart, lineEnd, start, end));
      }
      if (2 * count == bounds.length) {
        bounds = Arrays.copyOf(bounds, 2 * bounds.length);
      }
      bounds[2 * count] = start;
      bounds[2 * count + 1] = end;
      count++;
    }

    /**
     * Returns the number of fields so far.
     *
     * @return the number of fields, at least 0
     */
    public int count() {
      return count;
    }

    /** Removes the fields, before another line's are added. */
    void begin(int start, int end) {
      count = 0;
      lineStart = start;
      lineEnd = end;
    }

    int start(int field) {
      return bounds[2 * field];
    }

    int end(int field) {
      return bounds[2 * field + 1];
    }
  }
}
