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
import org.jspecify.annotations.Nullable;

/**
 * Columns of a table that become elements of a tensor by one rule: a {@link NumberColumn} or a
 * {@link CategoryColumn}.
 *
 * <p>Immutable and serializable.
 */
public abstract sealed class TableInput implements Serializable
    permits NumberColumn, CategoryColumn {
  private static final long serialVersionUID = 1L;

  static final String MISSING = "nothing";

  /** The names in the table. */
  private final String[] names;

  TableInput(String... names) {
    this.names = names;
  }

  static String[] checked(String... names) {
    List<String> all = Checks.copyOf("names", Arrays.asList(requireNonNull(names, "names")));
    if (all.isEmpty()) {
      throw new IllegalArgumentException("names must contain at least one column, got none");
    }
    return all.toArray(String[]::new);
  }

  /**
   * Returns the names of the columns.
   *
   * @return at least one, as an unmodifiable list
   */
  public List<String> names() {
    return List.of(names);
  }

  final String[] array() {
    return names;
  }

  abstract void write(JsonGenerator out) throws IOException;

  static TableInput parse(JsonObject json) {
    return switch (json.text("kind")) {
      case NumberColumn.KIND -> NumberColumn.parse(json);
      case CategoryColumn.KIND -> CategoryColumn.parse(json);
      default ->
          throw new IllegalArgumentException(
              "the kind of a column must be %s or %s, got %s"
                  .formatted(NumberColumn.KIND, CategoryColumn.KIND, json.text("kind")));
    };
  }

  static void writeNames(JsonGenerator out, String... names) throws IOException {
    out.writeArrayFieldStart("columns");
    for (String name : names) {
      out.writeString(name);
    }
    out.writeEndArray();
  }

  static String textOf(@Nullable Object value) {
    return value == null ? MISSING : value.toString();
  }
}
