// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import io.torchfeed.internal.Quotes;

/** Thrown when the value of a column cannot become an element of a tensor. */
public final class TableValueException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** The column. */
  private final String column;

  /** The value. */
  private final String text;

  /** The rule that the value breaks. */
  private final String problem;

  TableValueException(String column, String text, String problem) {
    this("", column, text, problem);
  }

  private TableValueException(String place, String column, String text, String problem) {
    super("%scolumn %s: %s, got %s".formatted(place, column, problem, Quotes.shortened(text)));
    this.column = column;
    this.text = text;
    this.problem = problem;
  }

  /** Returns the same exception with the place of the row. */
  TableValueException at(String place) {
    TableValueException placed = new TableValueException(place + ", ", column, text, problem);
    placed.initCause(this);
    return placed;
  }

  /**
   * Returns the column.
   *
   * @return its name in the table
   */
  public String column() {
    return column;
  }

  /**
   * Returns the value as text.
   *
   * @return the text; {@code nothing} for a missing value
   */
  public String text() {
    return text;
  }

  /**
   * Returns the rule that the value breaks.
   *
   * @return the rule, for messages
   */
  public String problem() {
    return problem;
  }
}
