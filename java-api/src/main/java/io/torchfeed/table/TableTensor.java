// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;

/**
 * A tensor that is made of columns of a table, with a name in the batches.
 *
 * <p>Immutable and serializable.
 */
public final class TableTensor implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The kind of the elements. */
  enum Form {
    FEATURES,
    NUMBER,
    CATEGORIES
  }

  /** The name in the batches. */
  private final String name;

  /** The kind of the elements. */
  private final Form form;

  /** The columns. */
  private final TableInput[] inputs;

  private TableTensor(String name, Form form, TableInput... inputs) {
    this.name = name;
    this.form = form;
    this.inputs = inputs;
    for (TableInput input : inputs) {
      if (input instanceof CategoryColumn column) {
        column.requireConsistent();
      }
    }
  }

  private static TableTensor of(String name, Form form, TableInput... inputs) {
    if (requireNonNull(name, "name").isEmpty()) {
      throw new IllegalArgumentException("the name of a tensor must not be empty");
    }
    List<TableInput> all =
        Checks.copyOf("columns", Arrays.asList(requireNonNull(inputs, "columns")));
    if (all.isEmpty()) {
      throw new IllegalArgumentException(
          "the tensor %s must have at least one column, got none".formatted(name));
    }
    return new TableTensor(name, form, all.toArray(TableInput[]::new));
  }

  /**
   * Returns a tensor {@code float32 [N, width]} of numbers, and of categories that are one-hot, in
   * the order of the columns.
   *
   * @param name the name in the batches
   * @param columns at least one
   * @return the tensor
   * @throws IllegalArgumentException if the name is empty, or there is no column
   */
  public static TableTensor features(String name, TableInput... columns) {
    return of(name, Form.FEATURES, columns);
  }

  /**
   * Returns a tensor {@code float32 [N]} of one column of numbers, for example a target or a
   * weight.
   *
   * @param name the name in the batches
   * @param column a column of one name, without a mask
   * @return the tensor
   * @throws IllegalArgumentException if the name is empty, the column has several names, or a mask
   */
  public static TableTensor number(String name, NumberColumn column) {
    requireNonNull(column, "column");
    if (column.names().size() != 1 || column.hasMask()) {
      throw new IllegalArgumentException(
          "the tensor %s must have one number in a row, got %s%s"
              .formatted(name, column.names(), column.hasMask() ? " with a mask" : ""));
    }
    return of(name, Form.NUMBER, column);
  }

  /**
   * Returns a tensor of indices, int64: {@code [N]} of one column, for example a label or the rows
   * of an embedding, {@code [N, k]} of k.
   *
   * @param name the name in the batches
   * @param columns at least one
   * @return the tensor
   * @throws IllegalArgumentException if the name is empty, or there is no column
   */
  public static TableTensor categories(String name, CategoryColumn... columns) {
    return of(name, Form.CATEGORIES, columns);
  }

  /**
   * Returns the name.
   *
   * @return the name in the batches
   */
  public String name() {
    return name;
  }

  Form form() {
    return form;
  }

  /** Returns its columns, each of one name. */
  List<TableCell> cells() {
    return Arrays.stream(inputs)
        .flatMap(input -> input.names().stream().map(each -> new TableCell(input, each)))
        .toList();
  }

  /**
   * A column of one name.
   *
   * @param input its rule
   * @param name in the table
   */
  record TableCell(TableInput input, String name) {}

  void write(JsonGenerator out) throws IOException {
    out.writeStartObject();
    out.writeStringField("name", name);
    out.writeStringField("form", form.name());
    out.writeArrayFieldStart("inputs");
    for (TableInput input : inputs) {
      out.writeStartObject();
      input.write(out);
      out.writeEndObject();
    }
    out.writeEndArray();
    out.writeEndObject();
  }

  static TableTensor parse(JsonObject json) {
    json.only("name", "form", "inputs");
    String name = json.text("name");
    List<TableInput> inputs = json.objects("inputs").stream().map(TableInput::parse).toList();
    return switch (json.text("form")) {
      case "FEATURES" -> features(name, inputs.toArray(TableInput[]::new));
      case "NUMBER" -> number(name, only(inputs));
      case "CATEGORIES" ->
          categories(
              name,
              inputs.stream()
                  .map(each -> cast(CategoryColumn.class, each))
                  .toArray(CategoryColumn[]::new));
      default ->
          throw new IllegalArgumentException(
              "the form of a tensor must be one of %s, got %s"
                  .formatted(Arrays.toString(Form.values()), json.text("form")));
    };
  }

  private static NumberColumn only(List<TableInput> inputs) {
    if (inputs.size() != 1) {
      throw new IllegalArgumentException("a number has one column, got " + inputs.size());
    }
    return cast(NumberColumn.class, inputs.get(0));
  }

  private static <T> T cast(Class<T> type, TableInput input) {
    if (!type.isInstance(input)) {
      throw new IllegalArgumentException(
          "columns %s must be a %s".formatted(input.names(), type.getSimpleName()));
    }
    return type.cast(input);
  }
}
