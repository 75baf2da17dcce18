// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The values of a column of a table, in pieces so that none is copied when they grow. */
abstract sealed class CellStore {
  private static final int PIECE_BITS = 12;
  private static final int PIECE = 1 << PIECE_BITS;
  private static final int PLACE = PIECE - 1;

  static CellStore of(TableInput input, String name, ToDoubleFunction<CharSequence> numbers) {
    return input instanceof NumberColumn number
        ? new OfNumber(name, number, numbers)
        : new OfCategory(name, (CategoryColumn) input);
  }

  /** Sets the value of a row, the next one or one that was set before. */
  abstract void put(int row, @Nullable Object value);

  /** Returns a learner that has learned from some rows. */
  abstract CellLearner learner(long[] rows);

  /** Numbers; NaN is a missing one. */
  static final class OfNumber extends CellStore {
    private final String name;
    private final NumberColumn rule;
    private final ToDoubleFunction<CharSequence> numbers;
    private final List<double[]> pieces = new ArrayList<>();

    OfNumber(String name, NumberColumn rule, ToDoubleFunction<CharSequence> numbers) {
      this.name = name;
      this.rule = rule;
      this.numbers = numbers;
    }

    @Override
    void put(int row, @Nullable Object value) {
      double number = rule.number(name, value, numbers);
      if (row >> PIECE_BITS == pieces.size()) {
        pieces.add(new double[PIECE]);
      }
      pieces.get(row >> PIECE_BITS)[row & PLACE] = number;
    }

    double get(int row) {
      return pieces.get(row >> PIECE_BITS)[row & PLACE];
    }

    @Override
    CellLearner learner(long[] rows) {
      CellLearner.OfNumber learner = new CellLearner.OfNumber(name, rule);
      for (long row : rows) {
        learner.add(get((int) row));
      }
      return learner;
    }
  }

  /** Categories, each by the number of its first occurrence. */
  static final class OfCategory extends CellStore {
    private static final int MISSING = -1;

    private final String name;
    private final CategoryColumn rule;
    private final Map<Object, Integer> codes = new HashMap<>();
    private final List<Object> keys = new ArrayList<>();
    private final List<int[]> pieces = new ArrayList<>();

    OfCategory(String name, CategoryColumn rule) {
      this.name = name;
      this.rule = rule;
    }

    @Override
    void put(int row, @Nullable Object value) {
      Object key = rule.key(name, value);
      int code = MISSING;
      if (key != null) {
        Integer known = codes.putIfAbsent(key, keys.size());
        code = known == null ? keys.size() : known;
        if (known == null) {
          keys.add(key);
        }
      }
      if (row >> PIECE_BITS == pieces.size()) {
        pieces.add(new int[PIECE]);
      }
      pieces.get(row >> PIECE_BITS)[row & PLACE] = code;
    }

    /** Returns the number of a row's category; -1 for a missing value. */
    int get(int row) {
      return pieces.get(row >> PIECE_BITS)[row & PLACE];
    }

    /** Returns the categories by their numbers. */
    List<Object> keys() {
      return keys;
    }

    @Override
    CellLearner learner(long[] rows) {
      long[] counts = new long[keys.size()];
      for (long row : rows) {
        int code = get((int) row);
        if (code != MISSING) {
          counts[code]++;
        }
      }
      CellLearner.OfCategory learner = new CellLearner.OfCategory(name, rule);
      for (int code = 0; code < counts.length; code++) {
        if (counts[code] > 0) {
          learner.add(keys.get(code), counts[code]);
        }
      }
      return learner;
    }
  }
}
