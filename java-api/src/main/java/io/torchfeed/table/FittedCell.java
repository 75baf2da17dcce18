// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.Serializable;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A column with its mean and deviation, or its vocabulary. Immutable. */
abstract sealed class FittedCell implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String name;

  FittedCell(String name) {
    this.name = name;
  }

  /** Reads a column. */
  static FittedCell read(TableInput input, String name, JsonObject json) {
    if (input instanceof CategoryColumn category) {
      json.only("column", "categories");
      return OfCategory.of(name, category, category.vocabulary(json));
    }
    json.only("column", "fill", "mean", "deviation");
    return OfNumber.of(
        name,
        (NumberColumn) input,
        json.decimal("fill"),
        json.decimal("mean"),
        json.decimal("deviation"));
  }

  final String name() {
    return name;
  }

  /** Returns the number of its elements in a tensor of features. */
  abstract int width();

  /** Writes the elements of a value. */
  abstract void put(@Nullable Object value, float[] into, int at);

  abstract void write(JsonGenerator out) throws IOException;

  /** Returns the JSON form. */
  final String describe() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      write(out);
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // writing to a String never throws
    }
    return text.toString();
  }

  /** A column of numbers. */
  static final class OfNumber extends FittedCell {
    private static final long serialVersionUID = 1L;

    private final NumberColumn rule;
    private final double fill;
    private final double mean;
    private final double deviation;

    private OfNumber(String name, NumberColumn rule, double fill, double mean, double deviation) {
      super(name);
      this.rule = rule;
      this.fill = fill;
      this.mean = mean;
      this.deviation = deviation;
    }

    static FittedCell of(
        String name, NumberColumn rule, double fill, double mean, double deviation) {
      if (!Double.isFinite(fill) || !Double.isFinite(mean) || !(deviation > 0)) {
        throw new IllegalArgumentException(
            "column %s must have a finite value and mean and a deviation above 0, got %s, %s and %s"
                .formatted(name, fill, mean, deviation));
      }
      return new OfNumber(name, rule, fill, mean, deviation);
    }

    @Override
    int width() {
      return rule.hasMask() ? 2 : 1;
    }

    @Override
    void put(@Nullable Object value, float[] into, int at) {
      double number = rule.number(name(), value, NumberColumn.NOT_TEXT);
      if (!put(number, into, at)) {
        throw tooLarge(number);
      }
    }

    /** Writes a number, NaN for a missing one; returns whether it fits. */
    boolean put(double number, float[] into, int at) {
      boolean isMissing = Double.isNaN(number);
      float element = (float) (((isMissing ? fill : number) - mean) / deviation);
      into[at] = element;
      if (rule.hasMask()) {
        into[at + 1] = isMissing ? 1 : 0;
      }
      return !Float.isInfinite(element);
    }

    TableValueException tooLarge(double number) {
      return new TableValueException(
          name(), String.valueOf(number), "a number must be at most 3.4028235e38 as a float32");
    }

    @Override
    void write(JsonGenerator out) throws IOException {
      out.writeStringField("column", name());
      out.writeNumberField("fill", fill);
      out.writeNumberField("mean", mean);
      out.writeNumberField("deviation", deviation);
    }
  }

  /** A column of categories. */
  static final class OfCategory extends FittedCell {
    private static final long serialVersionUID = 1L;

    private final CategoryColumn rule;
    private final Object[] categories;
    private final HashMap<Object, Integer> indices = new HashMap<>();

    private OfCategory(String name, CategoryColumn rule, Object... categories) {
      super(name);
      this.rule = rule;
      this.categories = categories;
      for (Object each : categories) {
        indices.put(each, indices.size());
      }
    }

    static FittedCell of(String name, CategoryColumn rule, List<Object> categories) {
      return new OfCategory(name, rule, categories.toArray());
    }

    List<Object> categories() {
      return List.of(categories);
    }

    /** Returns the number of indices. */
    int indexCount() {
      return width() + (rule.allowsUnknown() ? 1 : 0);
    }

    @Override
    int width() {
      return categories.length + (rule.hasMissing() ? 1 : 0);
    }

    @Override
    void put(@Nullable Object value, float[] into, int at) {
      put(index(rule.key(name(), value)), into, at);
    }

    /** Returns the index of a value. */
    int indexOf(@Nullable Object value) {
      return index(rule.key(name(), value));
    }

    /** Returns the index of a category; of null for a missing one. */
    int index(@Nullable Object key) {
      if (key == null) {
        return categories.length;
      }
      int index = indexOrElse(key, -1);
      if (index < 0) {
        throw unknown(key);
      }
      return index;
    }

    /** Returns the index of a category, or another number if it is unknown and refused. */
    int indexOrElse(Object key, int refused) {
      Integer index = indices.get(key);
      return index != null ? index : rule.allowsUnknown() ? width() : refused;
    }

    TableValueException unknown(Object key) {
      String all = Quotes.listed(", ", categories());
      String problem =
          rule.categories() == null
              ? "a category must be in the vocabulary of the training rows (%s); learn from rows that"
                  + " have it, name all categories by withCategories, or give those that are"
                  + " unknown an index of their own by withUnknownAllowed"
              : "a category must be one of withCategories (%s), or use withUnknownAllowed";
      return new TableValueException(name(), key.toString(), problem.formatted(all));
    }

    /** Writes an index one-hot. */
    void put(int index, float[] into, int at) {
      Arrays.fill(into, at, at + width(), 0);
      if (index < width()) {
        into[at + index] = 1;
      }
    }

    @Override
    void write(JsonGenerator out) throws IOException {
      out.writeStringField("column", name());
      out.writeArrayFieldStart("categories");
      for (Object each : categories) {
        if (each instanceof Long number) {
          out.writeNumber(number);
        } else {
          out.writeString(each.toString());
        }
      }
      out.writeEndArray();
    }
  }
}
