// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.Serializable;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The description of the tensors that are made of the columns of a table.
 *
 * <pre>{@code
 * TableColumns columns =
 *     TableColumns.of(
 *         TableTensor.features(
 *             "x",
 *             NumberColumn.of("age", "income").withMissingMean().withStandardization(),
 *             CategoryColumn.of("colour").withMissingCategory()),
 *         TableTensor.categories("label", CategoryColumn.of("class")));
 * TableRows rows = CsvFile.of(Path.of("people.csv")).withMissingWords("NA").read(columns);
 * List<long[]> parts =
 *     StratifiedSplit.byFractions(rows.labels("label"), new double[] {0.8, 0.2}, 42);
 * FittedColumns fitted = rows.fit(parts.get(0)); // from the training rows alone
 * TensorDataset data = rows.dataset(fitted);
 * }</pre>
 *
 * <p>Immutable and serializable. Equal to a description of the same tensors and rules.
 */
public final class TableColumns implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The tensors. */
  private final TableTensor[] tensors;

  private TableColumns(TableTensor... tensors) {
    this.tensors = tensors;
  }

  /**
   * Returns a description.
   *
   * @param tensors at least one, with different names
   * @return the description
   * @throws IllegalArgumentException if there is none, or two have the same name
   */
  public static TableColumns of(TableTensor... tensors) {
    List<TableTensor> all =
        Checks.copyOf("tensors", Arrays.asList(requireNonNull(tensors, "tensors")));
    Set<String> names = new LinkedHashSet<>();
    for (TableTensor tensor : all) {
      if (!names.add(tensor.name())) {
        throw new IllegalArgumentException("there are two tensors named " + tensor.name());
      }
    }
    if (names.isEmpty()) {
      throw new IllegalArgumentException("there must be at least one tensor, got none");
    }
    return new TableColumns(all.toArray(TableTensor[]::new));
  }

  /**
   * Returns the tensors.
   *
   * @return at least one, as an unmodifiable list
   */
  public List<TableTensor> tensors() {
    return List.of(tensors);
  }

  /**
   * Returns the columns of the table that the tensors need.
   *
   * @return their names, each once, as an unmodifiable list
   */
  public List<String> names() {
    Set<String> names = new LinkedHashSet<>();
    cells().forEach(cell -> names.add(cell.name()));
    return List.copyOf(names);
  }

  /**
   * Returns some of the tensors, for example without the label for rows that have none.
   *
   * @param names of tensors, at least one
   * @return the description of these alone
   * @throws IllegalArgumentException if there is no such tensor, or a name is given twice
   */
  public TableColumns only(String... names) {
    List<String> all = Checks.copyOf("names", Arrays.asList(requireNonNull(names, "names")));
    return of(all.stream().map(this::tensor).toArray(TableTensor[]::new));
  }

  TableTensor tensor(String name) {
    for (TableTensor tensor : tensors) {
      if (tensor.name().equals(name)) {
        return tensor;
      }
    }
    throw new IllegalArgumentException(
        "there must be a tensor %s, got %s"
            .formatted(name, Arrays.stream(tensors).map(TableTensor::name).toList()));
  }

  /** Returns the columns of all tensors, in their order. */
  List<TableTensor.TableCell> cells() {
    return Arrays.stream(tensors).flatMap(tensor -> tensor.cells().stream()).toList();
  }

  /** Returns, for each of the cells, its place among the names. */
  int[] places() {
    List<String> names = names();
    return cells().stream().mapToInt(cell -> names.indexOf(cell.name())).toArray();
  }

  void requireValues(@Nullable Object... values) {
    List<String> names = names();
    if (requireNonNull(values, "values").length != names.size()) {
      throw new IllegalArgumentException(
          "a row must have the values of %s, got %d".formatted(names, values.length));
    }
  }

  void write(JsonGenerator out) throws IOException {
    out.writeArrayFieldStart("tensors");
    for (TableTensor tensor : tensors) {
      tensor.write(out);
    }
    out.writeEndArray();
  }

  static TableColumns parse(JsonObject json) {
    return of(json.objects("tensors").stream().map(TableTensor::parse).toArray(TableTensor[]::new));
  }

  /** Returns the description as JSON. */
  @Override
  public String toString() {
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

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof TableColumns columns && toString().equals(columns.toString());
  }

  @Override
  public int hashCode() {
    return toString().hashCode();
  }
}
