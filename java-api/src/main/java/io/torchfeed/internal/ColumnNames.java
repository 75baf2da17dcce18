// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.util.Objects.requireNonNull;

import java.util.List;

/** The names of the columns of a dataset; a column without one has an empty name. Immutable. */
public final class ColumnNames {
  private final List<String> names;

  private ColumnNames(List<String> names) {
    this.names = names;
  }

  /**
   * Returns the names of columns, in their order.
   *
   * @throws IllegalArgumentException if two columns have one name
   */
  public static ColumnNames of(List<String> names) {
    for (int i = 0; i < names.size(); i++) {
      int first = names.indexOf(names.get(i));
      if (first < i && !names.get(i).isEmpty()) {
        throw new IllegalArgumentException(
            "the names of columns must differ, got %s for columns %d and %d"
                .formatted(Quotes.shortened(names.get(i)), first, i));
      }
    }
    return new ColumnNames(List.copyOf(names));
  }

  /**
   * Returns the number of a column.
   *
   * @throws IllegalArgumentException if no column has the name
   */
  public int number(String name) {
    int number = requireNonNull(name, "column").isEmpty() ? -1 : names.indexOf(name);
    if (number < 0) {
      List<String> known = names.stream().filter(each -> !each.isEmpty()).toList();
      throw new IllegalArgumentException(
          known.isEmpty()
              ? "the columns have no names, so they are found by their numbers, got %s; RowSpec and"
                      .formatted(Quotes.shortened(name))
                  + " NativeDataset.withNames give them names"
              : "the column must be one of %s, got %s".formatted(known, Quotes.shortened(name)));
    }
    return number;
  }
}
