// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Columns of categories: one of a set of texts or whole numbers. In a tensor of features each
 * column is one-hot, in a tensor of categories it is an index, for an embedding or as a label.
 *
 * <p>The vocabulary has the values of the training rows in ascending order, as in scikit-learn's
 * {@code OneHotEncoder} and {@code OrdinalEncoder}: texts by their code points, and whole numbers
 * by value. Each column has its own. Missing values and those that are not in the vocabulary are
 * refused by default.
 *
 * <p>Immutable and serializable.
 */
public final class CategoryColumn extends TableInput {
  static final String KIND = "category";

  private static final long serialVersionUID = 1L;

  /** True for whole numbers. */
  private final boolean whole;

  /** The categories in their order; null if they are learned. */
  private final Object @Nullable [] categories;

  /** The category in place of a missing value; null for none. */
  private final @Nullable Object value;

  /** True if missing values are a category. */
  private final boolean missing;

  /** True if values outside the vocabulary are allowed. */
  private final boolean unknown;

  /** The number of training rows that a category has at least. */
  private final int minCount;

  private CategoryColumn(
      String[] names,
      boolean whole,
      Object @Nullable [] categories,
      @Nullable Object value,
      boolean missing,
      boolean unknown,
      int minCount) {
    super(names);
    this.whole = whole;
    this.categories = categories;
    this.value = value;
    this.missing = missing;
    this.unknown = unknown;
    this.minCount = minCount;
  }

  /**
   * Returns columns of texts. Whole numbers and booleans count as their text.
   *
   * @param names the names in the table, at least one; the options hold for each of them
   * @return the columns
   * @throws IllegalArgumentException if there is no name
   */
  public static CategoryColumn of(String... names) {
    return new CategoryColumn(checked(names), false, null, null, false, false, 1);
  }

  /**
   * Returns columns of whole numbers of 64 bits, also in the form {@code 3.0} that pandas writes.
   *
   * @param names the names in the table, at least one; the options hold for each of them
   * @return the columns
   * @throws IllegalArgumentException if there is no name
   */
  public static CategoryColumn ofNumbers(String... names) {
    return new CategoryColumn(checked(names), true, null, null, false, false, 1);
  }

  /**
   * Returns these columns with a vocabulary that is not learned, for example {@code no, yes}.
   *
   * @param values the categories in the order of their indices, at least one
   * @return the new columns
   * @throws IllegalArgumentException if none is given, one is given twice, or they must be whole
   *     numbers and one is not
   */
  public CategoryColumn withCategories(String... values) {
    List<String> all = Checks.copyOf("values", Arrays.asList(requireNonNull(values, "values")));
    Object[] keys = all.stream().map(each -> key(names().get(0), each)).toArray();
    requireVocabulary(Arrays.asList(keys));
    return new CategoryColumn(array(), whole, keys, value, missing, unknown, minCount);
  }

  private static void requireVocabulary(List<Object> keys) {
    Set<Object> seen = new HashSet<>();
    for (Object key : keys) {
      if (!seen.add(key)) {
        throw new IllegalArgumentException("a category must be there once, got twice " + key);
      }
    }
    if (keys.isEmpty()) {
      throw new IllegalArgumentException("there must be at least one category, got none");
    }
  }

  /**
   * Returns these columns with a category in place of missing values.
   *
   * @param category a text or whole number, which joins the vocabulary if a training row has it
   * @return the new columns
   * @throws IllegalArgumentException if it must be a whole number and is not
   */
  public CategoryColumn withMissingValue(String category) {
    Object key = key(names().get(0), requireNonNull(category, "category"));
    return new CategoryColumn(array(), whole, categories, key, false, unknown, minCount);
  }

  /**
   * Returns these columns with missing values as a category of their own, after all others, also if
   * no training row lacks a value.
   *
   * @return the new columns
   */
  public CategoryColumn withMissingCategory() {
    return new CategoryColumn(array(), whole, categories, null, true, unknown, minCount);
  }

  /**
   * Returns these columns with values allowed that are not in the vocabulary. Their index is the
   * last, after the one of missing values, as with {@code handleInvalid} {@code keep} of Spark's
   * {@code StringIndexer}; one-hot they are all zeros, as with {@code handle_unknown} {@code
   * ignore} of scikit-learn's {@code OneHotEncoder}.
   *
   * @return the new columns
   */
  public CategoryColumn withUnknownAllowed() {
    return new CategoryColumn(array(), whole, categories, value, missing, true, minCount);
  }

  /**
   * Returns these columns with a vocabulary of the values that are frequent enough; rarer ones are
   * unknown. It needs {@link #withUnknownAllowed}.
   *
   * @param rows the training rows that must have a value, at least 1
   * @return the new columns
   * @throws IllegalArgumentException if it is below 1
   */
  public CategoryColumn withMinCount(int rows) {
    if (rows < 1) {
      throw new IllegalArgumentException("rows must be at least 1, got " + rows);
    }
    return new CategoryColumn(array(), whole, categories, value, missing, unknown, rows);
  }

  void requireConsistent() {
    if (minCount > 1 && (!unknown || categories != null)) {
      throw new IllegalArgumentException(
          "withMinCount needs withUnknownAllowed, and no withCategories: columns " + names());
    }
  }

  /** Returns the categories that are not learned. */
  @Nullable List<Object> categories() {
    return categories == null ? null : List.of(categories);
  }

  boolean hasMissing() {
    return missing;
  }

  boolean allowsUnknown() {
    return unknown;
  }

  int minCount() {
    return minCount;
  }

  /** Returns the category of a value; null for a missing one that is a category of its own. */
  @Nullable Object key(String name, @Nullable Object given) {
    if (given == null) {
      if (value == null && !missing) {
        throw new TableValueException(
            name,
            textOf(null),
            "a value must not be missing without withMissingValue or withMissingCategory");
      }
      return value;
    }
    Object key = whole ? number(given) : text(given);
    if (key == null) {
      throw new TableValueException(
          name,
          textOf(given),
          whole
              ? "a category must be a whole number of 64 bits"
              : "a category must be a text, a whole number or a boolean");
    }
    return key;
  }

  private static @Nullable Object text(Object given) {
    return given instanceof CharSequence || given instanceof Boolean || isWhole(given)
        ? given.toString()
        : null;
  }

  private static boolean isWhole(Object given) {
    return given instanceof Long
        || given instanceof Integer
        || given instanceof Short
        || given instanceof Byte;
  }

  private static @Nullable Object number(Object given) {
    if (isWhole(given)) {
      return ((Number) given).longValue();
    } else if (!(given instanceof CharSequence) && !(given instanceof Number)) {
      return null;
    }
    String text = given.toString();
    try {
      if (text.indexOf('.') < 0) {
        return Long.valueOf(text);
      }
      BigDecimal decimal = new BigDecimal(text);
      return Math.abs(decimal.scale()) > Long.SIZE ? null : (Object) decimal.longValueExact();
    } catch (ArithmeticException | NumberFormatException e) {
      return null; // the caller names the value
    }
  }

  /**
   * Returns the vocabulary of a JSON object.
   *
   * @throws IllegalArgumentException if it has none, or another one than these columns
   */
  List<Object> vocabulary(JsonObject json) {
    List<Object> keys =
        whole ? List.copyOf(json.numbers("categories")) : List.copyOf(json.texts("categories"));
    requireVocabulary(keys);
    if (categories != null && !keys.equals(List.of(categories))) {
      throw new IllegalArgumentException(
          "columns %s must have the categories %s".formatted(names(), List.of(categories)));
    }
    return keys;
  }

  @Override
  void write(JsonGenerator out) throws IOException {
    out.writeStringField("kind", KIND);
    writeNames(out, array());
    out.writeBooleanField("whole", whole);
    if (categories != null) {
      out.writeArrayFieldStart("categories");
      for (Object each : categories) {
        out.writeString(each.toString());
      }
      out.writeEndArray();
    }
    if (value != null) {
      out.writeStringField("missingValue", value.toString());
    }
    out.writeBooleanField("missing", missing);
    out.writeBooleanField("unknown", unknown);
    out.writeNumberField("minCount", minCount);
  }

  static CategoryColumn parse(JsonObject json) {
    json.only(
        "kind", "columns", "whole", "categories", "missingValue", "missing", "unknown", "minCount");
    String[] names = json.texts("columns").toArray(String[]::new);
    CategoryColumn column =
        (json.bool("whole") ? ofNumbers(names) : of(names)).withMinCount(json.integer("minCount"));
    if (json.has("categories")) {
      column = column.withCategories(json.texts("categories").toArray(String[]::new));
    }
    if (json.bool("missing")) {
      column = column.withMissingCategory();
    } else if (json.has("missingValue")) {
      column = column.withMissingValue(json.text("missingValue"));
    }
    return json.bool("unknown") ? column.withUnknownAllowed() : column;
  }
}
