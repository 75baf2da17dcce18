// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import io.torchfeed.internal.sums.ExactSum;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A learner of the values of a column. Not thread-safe. */
abstract sealed class CellLearner implements Serializable {
  private static final long serialVersionUID = 1L;

  static CellLearner of(TableInput input, String name) {
    return input instanceof NumberColumn number
        ? new OfNumber(name, number)
        : new OfCategory(name, (CategoryColumn) input);
  }

  abstract void add(@Nullable Object value);

  /** Takes back a value that was added. */
  abstract void remove(@Nullable Object value);

  /** Adds the values of another learner of the same column. */
  abstract void merge(CellLearner other);

  /**
   * Returns the column with its mean or vocabulary.
   *
   * @throws IllegalArgumentException if the values were too few, or their squares too large
   */
  abstract FittedCell fit();

  /** A column of numbers: their exact sums. */
  static final class OfNumber extends CellLearner {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final NumberColumn rule;
    private final ExactSum sum = new ExactSum();
    private final ExactSum squares = new ExactSum();
    private long count;
    private long missing;

    OfNumber(String name, NumberColumn rule) {
      this.name = name;
      this.rule = rule;
    }

    @Override
    void add(@Nullable Object value) {
      add(rule.number(name, value, NumberColumn.NOT_TEXT));
    }

    @Override
    void remove(@Nullable Object value) {
      double number = rule.number(name, value, NumberColumn.NOT_TEXT);
      if (Double.isNaN(number)) {
        missing--;
        return;
      }
      count--;
      sum.add(-number); // sums are exact
      if (rule.isStandardized()) {
        squares.addProduct(-number, number);
      }
    }

    /** Adds a number, or NaN for a missing one. */
    void add(double number) {
      if (Double.isNaN(number)) {
        missing++;
        return;
      }
      count++;
      sum.add(number);
      if (rule.isStandardized()) {
        squares.addProduct(number, number);
      }
    }

    @Override
    void merge(CellLearner other) {
      OfNumber same = (OfNumber) other;
      sum.add(same.sum);
      squares.add(same.squares);
      count += same.count;
      missing += same.missing;
    }

    @Override
    FittedCell fit() {
      double fill = rule.missingValue();
      if (rule.missing() == NumberColumn.Missing.MEAN) {
        if (count == 0) {
          throw new IllegalArgumentException(
              "column %s must have a value in a training row for its mean; use withMissingValue"
                  .formatted(name));
        }
        fill = ExactSum.quotient(sum.units(), units(count));
      }
      if (!rule.isStandardized()) {
        return FittedCell.OfNumber.of(name, rule, fill, 0, 1);
      }
      long rows = count + missing;
      if (rows == 0) {
        throw new IllegalArgumentException(
            "column %s needs a training row for its deviation".formatted(name));
      }
      return standardized(fill, rows);
    }

    /** Fills in the missing values before, as a pipeline of scikit-learn's does. */
    private FittedCell standardized(double fill, long rows) {
      ExactSum all = new ExactSum();
      all.add(sum);
      all.addProduct((double) missing, fill);
      ExactSum allSquares = new ExactSum();
      allSquares.add(squares);
      double square = fill * fill;
      allSquares.addProduct((double) missing, square);
      allSquares.addProduct((double) missing, Math.fma(fill, fill, -square));
      if (!allSquares.isFinite()) {
        throw new IllegalArgumentException(
            "the numbers of column %s must be below 1e154 in magnitude to have a deviation"
                .formatted(name));
      }
      BigInteger total = all.units();
      BigInteger scaled =
          allSquares.units().multiply(BigInteger.valueOf(rows)).shiftLeft(-ExactSum.UNIT);
      BigInteger difference = scaled.subtract(total.multiply(total)).max(BigInteger.ZERO);
      double variance = ExactSum.quotient(difference, units(rows).multiply(units(rows)));
      double deviation = Math.sqrt(variance);
      double mean = ExactSum.quotient(total, units(rows));
      return FittedCell.OfNumber.of(name, rule, fill, mean, deviation == 0 ? 1 : deviation);
    }

    private static BigInteger units(long number) {
      return BigInteger.valueOf(number).shiftLeft(-ExactSum.UNIT);
    }
  }

  /** A column of categories: how often each occurs. */
  static final class OfCategory extends CellLearner {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final CategoryColumn rule;
    private final HashMap<Object, Long> counts = new HashMap<>();

    OfCategory(String name, CategoryColumn rule) {
      this.name = name;
      this.rule = rule;
    }

    @Override
    void add(@Nullable Object value) {
      Object key = rule.key(name, value);
      if (key != null) {
        add(key, 1);
      }
    }

    @Override
    void remove(@Nullable Object value) {
      Object key = rule.key(name, value);
      if (key != null) {
        counts.computeIfPresent(key, (same, count) -> count == 1 ? null : count - 1);
      }
    }

    void add(Object key, long count) {
      counts.merge(key, count, Long::sum);
    }

    @Override
    void merge(CellLearner other) {
      ((OfCategory) other).counts.forEach(this::add);
    }

    @Override
    FittedCell fit() {
      List<Object> fixed = rule.categories();
      if (fixed != null) {
        return FittedCell.OfCategory.of(name, rule, fixed);
      }
      List<Object> found =
          counts.entrySet().stream()
              .filter(each -> each.getValue() >= rule.minCount())
              .map(Map.Entry::getKey)
              .sorted(ORDER)
              .toList();
      if (found.isEmpty()) {
        throw new IllegalArgumentException(
            "column %s must have a category in at least %d training rows"
                .formatted(name, rule.minCount()));
      }
      return FittedCell.OfCategory.of(name, rule, found);
    }
  }

  /** The order of a vocabulary: of numbers, or of texts by their code points as in Python. */
  static final Comparator<Object> ORDER =
      (a, b) ->
          a instanceof Long number
              ? number.compareTo((Long) b)
              : compareCodePoints(a.toString(), b.toString());

  private static int compareCodePoints(String a, String b) {
    int length = Math.min(a.length(), b.length());
    for (int i = 0; i < length; i++) {
      char left = a.charAt(i);
      char right = b.charAt(i);
      if (left != right) {
        boolean isAbove = Character.isSurrogate(left);
        return isAbove == Character.isSurrogate(right)
            ? Character.compare(left, right)
            : isAbove ? 1 : -1;
      }
    }
    return Integer.compare(a.length(), b.length());
  }
}
