// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/**
 * A rounding of a table of shares that keeps the integer sums of rows and columns: in a row of sum
 * m and a column of sum L, the entry m·L/n is rounded up or down. Once the rows of all n have been
 * added, all entries are whole.
 *
 * <p>Fractions are kept as numerators over n. Along a cycle of entries that are not whole,
 * alternately adding and subtracting an amount changes no sum, so the amount is raised until one of
 * the entries is whole. Without cycles there are fewer open rows than columns, so memory does not
 * grow. Not thread-safe.
 */
final class ControlledRounding {
  private final long[] lengths;
  private final long whole;
  private final List<Row> open = new ArrayList<>();

  /** Creates a table of columns with the given sums, whose total is below 2^31. */
  ControlledRounding(long[] lengths) {
    this.lengths = lengths;
    this.whole = Arrays.stream(lengths).sum();
  }

  /**
   * Adds a row with the given sum and returns its entries, which are final once the last row has
   * been added.
   */
  long[] add(long sum) {
    Row row = new Row(lengths.length);
    for (int c = 0; c < lengths.length; c++) {
      row.entries[c] = sum * lengths[c] / whole;
      row.fractions[c] = sum * lengths[c] % whole;
    }
    open.add(row);
    for (List<Entry> cycle = cycle(); !cycle.isEmpty(); cycle = cycle()) {
      cancel(cycle);
      open.removeIf(Row::isWhole);
    }
    return row.entries;
  }

  private void cancel(List<Entry> cycle) {
    long amount = whole;
    for (int i = 0; i < cycle.size(); i++) {
      long fraction = cycle.get(i).fraction();
      amount = Math.min(amount, i % 2 == 0 ? whole - fraction : fraction);
    }
    for (int i = 0; i < cycle.size(); i++) {
      cycle.get(i).add(i % 2 == 0 ? amount : -amount, whole);
    }
  }

  /**
   * Returns a cycle of entries that are not whole, each in the same row or column as the next;
   * empty if there is none.
   */
  private List<Entry> cycle() {
    List<Row> rows = new ArrayList<>(open);
    boolean[] columns = core(rows);
    List<Entry> path = new ArrayList<>();
    if (rows.isEmpty()) {
      return path;
    }
    Row row = rows.get(0);
    int column = -1;
    while (true) {
      int next = row.otherColumn(column, columns);
      if (closes(path, new Entry(row, next), entry -> entry.column == next)) {
        return path;
      }
      Row last = row;
      row = rows.stream().filter(r -> r != last && r.fractions[next] > 0).findFirst().orElseThrow();
      Row arrived = row;
      if (closes(path, new Entry(row, next), entry -> entry.row == arrived)) {
        return path;
      }
      column = next;
    }
  }

  /**
   * Appends an entry to the path. If that closes a cycle, cuts the path to start where it left the
   * entry's row or column, and returns true.
   */
  private static boolean closes(List<Entry> path, Entry next, Predicate<Entry> same) {
    int left = path.size() - 1;
    while (left >= 0 && !same.test(path.get(left))) {
      left--;
    }
    path.add(next);
    if (left >= 0) {
      path.subList(0, left).clear();
    }
    return left >= 0;
  }

  /** Removes rows and columns that no cycle passes, and returns the remaining columns. */
  private boolean[] core(List<Row> rows) {
    boolean[] columns = new boolean[lengths.length];
    Arrays.fill(columns, true);
    boolean changed = true;
    while (changed) {
      changed = rows.removeIf(row -> row.degree(columns) < 2);
      for (int c = 0; c < columns.length; c++) {
        int column = c;
        if (columns[c] && rows.stream().filter(r -> r.fractions[column] > 0).count() < 2) {
          columns[c] = false;
          changed = true;
        }
      }
    }
    return columns;
  }

  /** A row: the whole parts of its entries, and the numerators of their fractions. */
  private static final class Row {
    private final long[] entries;
    private final long[] fractions;

    Row(int columns) {
      this.entries = new long[columns];
      this.fractions = new long[columns];
    }

    boolean isWhole() {
      return Arrays.stream(fractions).allMatch(fraction -> fraction == 0);
    }

    int degree(boolean[] columns) {
      int degree = 0;
      for (int c = 0; c < columns.length; c++) {
        degree += columns[c] && fractions[c] > 0 ? 1 : 0;
      }
      return degree;
    }

    int otherColumn(int than, boolean[] columns) {
      int c = 0;
      while (c == than || !columns[c] || fractions[c] == 0) {
        c++;
      }
      return c;
    }
  }

  /** One entry of a row. */
  private record Entry(Row row, int column) {
    long fraction() {
      return row.fractions[column];
    }

    void add(long amount, long whole) {
      row.fractions[column] += amount;
      if (row.fractions[column] == whole) {
        row.fractions[column] = 0;
        row.entries[column]++;
      }
    }
  }
}
