// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.time.DateTimeException;
import java.util.Arrays;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Columns of numbers, each of them one float32, computed in double precision.
 *
 * <p>By default a missing value is refused. NaN counts as missing, infinite numbers are refused,
 * and so is a number whose float32 is infinite. A missing value is filled in before the numbers are
 * standardized, as in a pipeline of scikit-learn's {@code SimpleImputer} and {@code
 * StandardScaler}. Means and deviations come from exact sums, the same for any order of the rows.
 *
 * <p>Immutable and serializable.
 */
public final class NumberColumn extends TableInput {
  static final String KIND = "number";

  private static final long serialVersionUID = 1L;

  /** The way of a missing value. */
  enum Missing {
    REFUSE,
    VALUE,
    MEAN
  }

  /** The pattern of dates; empty for ISO 8601, null for numbers. */
  private final @Nullable String dates;

  /** The way of a missing value. */
  private final Missing missing;

  /** The value in place of a missing one. */
  private final double value;

  /** True if a second element marks missing values. */
  private final boolean mask;

  /** True if numbers are standardized. */
  private final boolean standardized;

  private NumberColumn(
      String[] names,
      @Nullable String dates,
      Missing missing,
      double value,
      boolean mask,
      boolean standardized) {
    super(names);
    this.dates = dates;
    this.missing = missing;
    this.value = value;
    this.mask = mask;
    this.standardized = standardized;
    if (dates != null) {
      Dates.requirePattern(dates);
    }
  }

  /**
   * Returns columns of numbers.
   *
   * @param names the names in the table, at least one; the options hold for each of them
   * @return the columns
   * @throws IllegalArgumentException if there is no name
   */
  public static NumberColumn of(String... names) {
    return new NumberColumn(checked(names), null, Missing.REFUSE, 0, false, false);
  }

  /**
   * Returns columns of dates, as the number of days since 1970-01-01, with a fraction for the time
   * of the day. Text is {@code 2026-11-28} or {@code 2026-11-28 15:30:00}, also with a {@code T},
   * fractions of a second, or an offset from UTC; without one the time is UTC.
   *
   * @param names the names in the table, at least one; the options hold for each of them
   * @return the columns
   * @throws IllegalArgumentException if there is no name
   */
  public static NumberColumn ofDates(String... names) {
    return new NumberColumn(checked(names), "", Missing.REFUSE, 0, false, false);
  }

  /**
   * Returns these dates, with text in another form.
   *
   * @param pattern for {@link java.time.format.DateTimeFormatter}, for example {@code dd.MM.yyyy}
   * @return the new columns
   * @throws IllegalArgumentException if the pattern is malformed, or these are no dates
   */
  public NumberColumn withDatePattern(String pattern) {
    requireNonNull(pattern, "pattern");
    if (dates == null) {
      throw new IllegalArgumentException("a pattern is for dates; use NumberColumn.ofDates");
    }
    return new NumberColumn(array(), pattern, missing, value, mask, standardized);
  }

  /**
   * Returns these columns with a number in place of missing values.
   *
   * @param number finite; of days, for dates
   * @return the new columns
   * @throws IllegalArgumentException if it is not finite
   */
  public NumberColumn withMissingValue(double number) {
    if (!Double.isFinite(number)) {
      throw new IllegalArgumentException("the value must be finite, got " + number);
    }
    return new NumberColumn(array(), dates, Missing.VALUE, number, mask, standardized);
  }

  /**
   * Returns these columns with the mean of the training rows in place of missing values.
   *
   * @return the new columns
   */
  public NumberColumn withMissingMean() {
    return new NumberColumn(array(), dates, Missing.MEAN, 0, mask, standardized);
  }

  /**
   * Returns these columns with a second element after each, which is 1 where the value is missing
   * and else 0: scikit-learn's {@code add_indicator}, for every column and next to it.
   *
   * @return the new columns
   */
  public NumberColumn withMissingMask() {
    return new NumberColumn(array(), dates, missing, value, true, standardized);
  }

  /**
   * Returns these columns, standardized: minus the mean of the training rows, divided by their
   * deviation (of the population, with n in its denominator, as scikit-learn's {@code
   * StandardScaler}). A column that is constant in the training rows is not divided.
   *
   * @return the new columns
   */
  public NumberColumn withStandardization() {
    return new NumberColumn(array(), dates, missing, value, mask, true);
  }

  boolean hasMask() {
    return mask;
  }

  Missing missing() {
    return missing;
  }

  double missingValue() {
    return value;
  }

  boolean isStandardized() {
    return standardized;
  }

  /**
   * Returns a value as a number.
   *
   * @param value a number, a boolean, a date, text, or null
   * @return the number; NaN if it is missing
   */
  double number(String name, @Nullable Object value, ToDoubleFunction<CharSequence> numbers) {
    double number = value == null ? Double.NaN : read(name, value, numbers);
    if (Double.isNaN(number) && missing == Missing.REFUSE) {
      throw new TableValueException(
          name, textOf(value), "a value must not be missing without withMissingValue or -Mean");
    }
    if (Double.isInfinite(number)) {
      throw new TableValueException(name, textOf(value), "a number must be finite");
    }
    return number;
  }

  private double read(String name, Object value, ToDoubleFunction<CharSequence> numbers) {
    if (dates != null) {
      try {
        return Dates.days(value instanceof CharSequence text ? text.toString() : value, dates);
      } catch (DateTimeException e) {
        String form =
            dates.isEmpty()
                ? "2026-11-28 or 2026-11-28T15:30; for another form use withDatePattern"
                : dates;
        throw new TableValueException(name, textOf(value), "a date must be like " + form);
      }
    }
    try {
      if (value instanceof Number number) {
        return number.doubleValue();
      } else if (value instanceof Boolean bool) {
        return bool ? 1 : 0;
      } else if (value instanceof CharSequence text) {
        return numbers.applyAsDouble(text);
      }
    } catch (NumberFormatException e) {
      throw notDecimal(name, value);
    }
    throw notDecimal(name, value);
  }

  private static TableValueException notDecimal(String name, Object value) {
    return new TableValueException(
        name, textOf(value), "a number must be decimal" + cure(textOf(value)));
  }

  /** Returns a hint for text that is no number. */
  private static String cure(String text) {
    if (text.matches("\\d{1,4}[-./]\\d{1,2}[-./]\\d{1,4}.*")) {
      return "; for dates use NumberColumn.ofDates";
    } else if (text.matches("[+-]?\\d*,\\d+")) {
      return "; for a decimal comma use CsvFile.withDecimalComma";
    } else if (text.matches("[+-]?[0-9.]+([eE][+-]?\\d+)?")) {
      return " and of at most 1.7976931348623157e308 in magnitude";
    } else if (text.matches("\\D*")) {
      return "; for a word in place of a missing value use CsvFile.withMissingWords, and for"
          + " categories CategoryColumn";
    }
    return "";
  }

  /** Numbers in text are read by those who know their form. */
  static final ToDoubleFunction<CharSequence> NOT_TEXT =
      text -> {
        throw new NumberFormatException(text.toString());
      };

  @Override
  void write(JsonGenerator out) throws IOException {
    out.writeStringField("kind", KIND);
    writeNames(out, array());
    if (dates != null) {
      out.writeStringField("dates", dates);
    }
    out.writeStringField("missing", missing.name());
    out.writeNumberField("missingValue", value);
    out.writeBooleanField("mask", mask);
    out.writeBooleanField("standardized", standardized);
  }

  static NumberColumn parse(JsonObject json) {
    json.only("kind", "columns", "dates", "missing", "missingValue", "mask", "standardized");
    NumberColumn column =
        new NumberColumn(
            checked(json.texts("columns").toArray(String[]::new)),
            json.textOrNull("dates"),
            Missing.REFUSE,
            0,
            json.bool("mask"),
            json.bool("standardized"));
    double value = json.decimal("missingValue");
    return switch (json.text("missing")) {
      case "REFUSE" -> column;
      case "MEAN" -> column.withMissingMean();
      case "VALUE" -> column.withMissingValue(value);
      default ->
          throw new IllegalArgumentException(
              "missing must be one of %s, got %s"
                  .formatted(Arrays.toString(Missing.values()), json.text("missing")));
    };
  }
}
