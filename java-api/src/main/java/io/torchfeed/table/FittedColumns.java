// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.io.Serializable;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Columns with the means, deviations and vocabularies of the training rows. One value for training,
 * evaluation and inference.
 *
 * <p>A part of a {@code TrainingState}: {@link #loadStateDict} requires that a resumed training has
 * learned the same, and a {@link SavedColumns} takes it from a checkpoint for inference.
 *
 * <p>Immutable, serializable and thread-safe. Equal if the description and all that was learned is
 * equal.
 */
public final class FittedColumns implements Stateful, Serializable {
  private static final long serialVersionUID = 1L;

  private static final int AROUND = 60;
  private static final String WHAT = "fitted table";
  private static final String LEARNED = "learned";

  /** The description. */
  private final TableColumns columns;

  /** The means, deviations and vocabularies. */
  private final FittedCell[] cells;

  private FittedColumns(TableColumns columns, FittedCell... cells) {
    this.columns = columns;
    this.cells = cells;
  }

  static FittedColumns of(TableColumns columns, CellLearner... learners) {
    FittedCell[] cells = new FittedCell[learners.length];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = learners[i].fit();
    }
    return new FittedColumns(columns, cells);
  }

  /**
   * Returns the description.
   *
   * @return the columns
   */
  public TableColumns columns() {
    return columns;
  }

  /**
   * Returns some of the tensors, for example without the label for rows that have none.
   *
   * @param tensors their names, at least one
   * @return these alone
   * @throws IllegalArgumentException if there is no such tensor, or a name is given twice
   */
  public FittedColumns only(String... tensors) {
    TableColumns some = columns.only(requireNonNull(tensors, "tensors"));
    List<FittedCell> kept = new ArrayList<>();
    for (TableTensor tensor : some.tensors()) {
      kept.addAll(cells(tensor.name()));
    }
    return new FittedColumns(some, kept.toArray(FittedCell[]::new));
  }

  /**
   * Returns the tensors' names, dtypes and shapes of a row.
   *
   * @return as many as there are tensors, as an unmodifiable list
   */
  public List<RowSpec> rows() {
    return columns.tensors().stream().map(each -> encoder(each.name()).row()).toList();
  }

  /**
   * Returns the number of elements of a tensor's row, for example for the first layer of a net.
   *
   * @param tensor its name
   * @return at least 1
   * @throws IllegalArgumentException if there is no such tensor
   */
  public int width(String tensor) {
    return Math.toIntExact(encoder(tensor).row().elements());
  }

  /**
   * Returns the vocabulary of a tensor of one column of categories, for example the classes.
   *
   * @param tensor its name
   * @return texts, or numbers as texts, in the order of their indices
   * @throws IllegalArgumentException if there is no such tensor, or it is of something else
   */
  public List<String> categories(String tensor) {
    return onlyCategory(tensor).categories().stream().map(Object::toString).toList();
  }

  /**
   * Returns the number of indices of a tensor of one column of categories, for the size of an
   * embedding or of the last layer: one for each word of the vocabulary, for missing values and for
   * unknown ones.
   *
   * @param tensor its name
   * @return at least 1
   * @throws IllegalArgumentException if there is no such tensor, or it is of something else
   */
  public int indexCount(String tensor) {
    return onlyCategory(tensor).indexCount();
  }

  private FittedCell.OfCategory onlyCategory(String tensor) {
    List<FittedCell> all = cells(tensor);
    if (all.size() == 1 && all.get(0) instanceof FittedCell.OfCategory category) {
      return category;
    }
    throw new IllegalArgumentException(
        "the tensor %s must be of one column of categories".formatted(tensor));
  }

  /**
   * Returns an encoder of rows as rows of a tensor.
   *
   * @param tensor its name
   * @return the encoder
   * @throws IllegalArgumentException if there is no such tensor
   */
  public TensorEncoder encoder(String tensor) {
    return new TensorEncoder(columns.only(requireNonNull(tensor, "tensor")), cells(tensor));
  }

  /** Returns the columns of a tensor. */
  List<FittedCell> cells(String tensor) {
    requireNonNull(tensor, "tensor");
    int from = 0;
    for (TableTensor each : columns.tensors()) {
      int to = from + each.cells().size();
      if (each.name().equals(tensor)) {
        return Arrays.asList(cells).subList(from, to);
      }
      from = to;
    }
    columns.tensor(tensor); // names the tensors
    throw new AssertionError(tensor);
  }

  /**
   * Returns the JSON form, with the description.
   *
   * @return the text
   */
  public String toJson() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", 1);
      columns.write(out);
      out.writeArrayFieldStart(LEARNED);
      for (FittedCell cell : cells) {
        out.writeStartObject();
        cell.write(out);
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // writing to a String never throws
    }
    return text.toString();
  }

  /**
   * Parses the JSON form.
   *
   * @param json the result of {@link #toJson}
   * @return the columns
   * @throws IllegalArgumentException if the text is something else, or inconsistent
   */
  public static FittedColumns fromJson(String json) {
    JsonObject object = JsonObject.parse(WHAT, requireNonNull(json, "json"));
    object.only("version", "tensors", LEARNED).requireVersion(1);
    TableColumns columns = TableColumns.parse(object);
    List<TableTensor.TableCell> cells = columns.cells();
    List<JsonObject> learned = object.objects(LEARNED);
    if (learned.size() != cells.size()) {
      throw new IllegalArgumentException(
          "a %s must have learned from %d columns, got %d"
              .formatted(WHAT, cells.size(), learned.size()));
    }
    FittedCell[] fitted = new FittedCell[cells.size()];
    for (int i = 0; i < fitted.length; i++) {
      TableTensor.TableCell cell = cells.get(i);
      if (!learned.get(i).text("column").equals(cell.name())) {
        throw new IllegalArgumentException(
            "element %d of a %s must be column %s, got %s"
                .formatted(i, WHAT, cell.name(), learned.get(i).text("column")));
      }
      fitted[i] = FittedCell.read(cell.input(), cell.name(), learned.get(i));
    }
    return new FittedColumns(columns, fitted);
  }

  @Override
  public StateDict stateDict() {
    return StateDict.of(toJson(), Map.of());
  }

  /**
   * Requires that the saved columns are the same as these: the same description, and the same
   * means, deviations and vocabularies. Nothing is changed.
   *
   * @throws IllegalArgumentException if they differ; the message names the first difference
   */
  @Override
  public void loadStateDict(StateDict state) {
    FittedColumns saved = fromJson(requireNonNull(state, "state").json());
    if (!saved.columns.equals(columns)) {
      throw new IllegalArgumentException(
          ("the description of the columns must be the saved one, which has %s, got %s; describe them"
                  + " as before, or take a new folder of checkpoints")
              .formatted(
                  difference(saved.columns.toString(), columns.toString()),
                  difference(columns.toString(), saved.columns.toString())));
    }
    for (int i = 0; i < cells.length; i++) {
      String was = saved.cells[i].describe();
      String is = cells[i].describe();
      if (!was.equals(is)) {
        throw new IllegalArgumentException(
            ("the training rows must have the mean, deviation or vocabulary of the saved state, %s, got %s;"
                    + " train on the same rows, or take a new folder of checkpoints")
                .formatted(Quotes.shortened(was), Quotes.shortened(is)));
      }
    }
  }

  /** Returns the first difference of a text from another, with some characters around it. */
  private static String difference(String text, String other) {
    int same = 0;
    while (same < Math.min(text.length(), other.length())
        && text.charAt(same) == other.charAt(same)) {
      same++;
    }
    int from = Math.max(0, same - AROUND);
    int to = Math.min(text.length(), same + AROUND);
    return "…" + text.substring(from, to) + "…";
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof FittedColumns fitted && toJson().equals(fitted.toJson());
  }

  @Override
  public int hashCode() {
    return toJson().hashCode();
  }

  /** Returns the JSON form. */
  @Override
  public String toString() {
    return toJson();
  }
}
