// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * Learns means, deviations and vocabularies from rows, one by one: for tables that are not in
 * memory. Learners of parts of a table are merged; the result is the same for any parts.
 *
 * <p>Serializable. Not thread-safe.
 */
public final class TableLearner implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The description. */
  private final TableColumns columns;

  /** The learner of each column. */
  private final CellLearner[] cells;

  /** The place of each column in a row. */
  private final int[] places;

  /** The number of values in a row. */
  private final int names;

  private TableLearner(TableColumns columns) {
    this.columns = columns;
    this.cells =
        columns.cells().stream()
            .map(cell -> CellLearner.of(cell.input(), cell.name()))
            .toArray(CellLearner[]::new);
    this.places = columns.places();
    this.names = columns.names().size();
  }

  /**
   * Returns a learner that knows no row.
   *
   * @param columns the description
   * @return the learner
   */
  public static TableLearner of(TableColumns columns) {
    return new TableLearner(requireNonNull(columns, "columns"));
  }

  /**
   * Learns from a training row.
   *
   * @param values the values in the order of {@link TableColumns#names}: numbers, booleans, texts,
   *     {@code LocalDate}, {@code LocalDateTime} or {@code Instant}, and null for a missing one
   * @throws TableValueException if a value does not fit its column; the row does not count
   * @throws IllegalArgumentException if there are more or fewer values
   */
  public void add(@Nullable Object... values) {
    if (requireNonNull(values, "values").length != names) {
      columns.requireValues(values);
    }
    int added = 0;
    try {
      while (added < cells.length) {
        cells[added].add(values[places[added]]);
        added++;
      }
    } finally {
      for (int i = 0; added < cells.length && i < added; i++) {
        cells[i].remove(values[places[i]]);
      }
    }
  }

  /**
   * Adds the rows of another learner.
   *
   * @param other of the same description
   * @throws IllegalArgumentException if it is of another one
   */
  public void merge(TableLearner other) {
    if (!columns.equals(requireNonNull(other, "other").columns)) {
      throw new IllegalArgumentException("the learners must be of the same columns");
    }
    for (int i = 0; i < cells.length; i++) {
      cells[i].merge(other.cells[i]);
    }
  }

  /**
   * Returns the result.
   *
   * @return the columns with their means, deviations and vocabularies
   * @throws IllegalArgumentException if a column has no value for its mean, no category, or numbers
   *     so large that they have no deviation
   */
  public FittedColumns fit() {
    return FittedColumns.of(columns, cells);
  }
}
