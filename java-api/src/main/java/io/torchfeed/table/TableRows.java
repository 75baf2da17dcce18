// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.internal.Checks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Rows of a table in memory, as numbers and numbers of categories: read once, then split, learned
 * from, and made into tensors. A number takes 8 bytes, a category 4, beside the tensors.
 *
 * <p>Immutable and thread-safe, except for its {@link Collector}.
 */
public final class TableRows {
  private final TableColumns columns;
  private final List<CellStore> stores;
  private final IntFunction<String> place;
  private final int size;

  private TableRows(
      TableColumns columns, List<CellStore> stores, IntFunction<String> place, int size) {
    this.columns = columns;
    this.stores = stores;
    this.place = place;
    this.size = size;
  }

  /**
   * Returns rows of maps, for example of requests to a service.
   *
   * @param columns the description
   * @param rows the values by the names of their columns, as in {@link TableLearner#add}; a name
   *     that is absent is a missing value, other names are left out
   * @return the rows
   * @throws TableValueException if a value does not fit its column
   */
  public static TableRows of(TableColumns columns, List<? extends Map<String, ?>> rows) {
    requireNonNull(rows, "rows");
    List<String> names = requireNonNull(columns, "columns").names();
    Collector collector = collector(columns, NumberColumn.NOT_TEXT, row -> "row " + row);
    for (Map<String, ?> each : Checks.copyOf("rows", rows)) {
      try {
        collector.add(names.stream().map(each::get).toArray());
      } catch (TableValueException e) {
        throw e.at("row " + collector.size());
      }
    }
    return collector.rows();
  }

  /**
   * Starts rows without any, for readers of a format.
   *
   * @param columns the description
   * @param numbers reads a number in text; a {@code NumberFormatException} refuses it
   * @param place names a row by its index in messages, for example {@code line 7}
   * @return the collector
   */
  public static Collector collector(
      TableColumns columns, ToDoubleFunction<CharSequence> numbers, IntFunction<String> place) {
    return new Collector(
        requireNonNull(columns, "columns"),
        requireNonNull(numbers, "numbers"),
        requireNonNull(place, "place"));
  }

  /** Adds rows one by one. Not thread-safe. */
  public static final class Collector {
    private final TableColumns columns;
    private final List<CellStore> stores = new ArrayList<>();
    private final int[] places;
    private final IntFunction<String> place;
    private final int names;
    private int size;

    private Collector(
        TableColumns columns, ToDoubleFunction<CharSequence> numbers, IntFunction<String> place) {
      this.columns = columns;
      this.places = columns.places();
      this.place = place;
      this.names = columns.names().size();
      columns.cells().forEach(cell -> stores.add(CellStore.of(cell.input(), cell.name(), numbers)));
    }

    /**
     * Adds a row.
     *
     * @param values the values in the order of {@link TableColumns#names}, as in {@link
     *     TableLearner#add}
     * @throws TableValueException if a value does not fit its column; the row is not added
     * @throws IllegalArgumentException if there are more or fewer values, or 2<sup>31</sup> rows
     */
    public void add(@Nullable Object... values) {
      if (requireNonNull(values, "values").length != names) {
        columns.requireValues(values);
      }
      if (size == Integer.MAX_VALUE) {
        throw new IllegalArgumentException("a table must have fewer than 2^31 rows");
      }
      for (int i = 0; i < places.length; i++) {
        stores.get(i).put(size, values[places[i]]);
      }
      size++;
    }

    /**
     * Returns the number of rows.
     *
     * @return at least 0
     */
    public int size() {
      return size;
    }

    /**
     * Returns the rows; the collector is not used any more.
     *
     * @return the rows
     */
    public TableRows rows() {
      return new TableRows(columns, stores, place, size);
    }
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
   * Returns the number of rows.
   *
   * @return at least 0
   */
  public int size() {
    return size;
  }

  /**
   * Returns the labels of all rows, for a {@code StratifiedSplit}, before anything is learned.
   *
   * @param tensor the name of a tensor of one column of categories
   * @return for each row the index of its category among all categories of the rows in ascending
   *     order, and the number of categories for a missing one
   * @throws IllegalArgumentException if there is no such tensor, or it is of something else
   */
  public long[] labels(String tensor) {
    CellStore.OfCategory store = onlyCategory(tensor);
    boolean[] occurs =
        new boolean[store.keys().size()]; // a row that was refused may have been first
    for (int row = 0; row < size; row++) {
      if (store.get(row) >= 0) {
        occurs[store.get(row)] = true;
      }
    }
    List<Object> sorted =
        IntStream.range(0, occurs.length)
            .filter(code -> occurs[code])
            .mapToObj(store.keys()::get)
            .sorted(CellLearner.ORDER)
            .toList();
    Map<Object, Integer> indices = new HashMap<>();
    sorted.forEach(key -> indices.put(key, indices.size()));
    long[] ofCode = store.keys().stream().mapToLong(key -> indices.getOrDefault(key, -1)).toArray();
    long[] labels = new long[size];
    for (int row = 0; row < size; row++) {
      int code = store.get(row);
      labels[row] = code < 0 ? sorted.size() : ofCode[code];
    }
    return labels;
  }

  /**
   * Returns the labels of some rows as in the tensors, for a {@code ClassBalancedSampler} over
   * them.
   *
   * @param fitted the learned columns
   * @param tensor the name of a tensor of one column of categories
   * @param rows indices of rows
   * @return the index of each row's category
   * @throws TableValueException if a category is not allowed; it names the row
   * @throws IllegalArgumentException if there is no such tensor, it is of something else, or the
   *     columns are others
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public int[] labels(FittedColumns fitted, String tensor, long... rows) {
    requireNonNull(tensor, "tensor");
    requireNonNull(rows, "rows");
    requireFitted(requireNonNull(fitted, "fitted"));
    CellStore.OfCategory store = onlyCategory(tensor);
    FittedCell.OfCategory cell = (FittedCell.OfCategory) fitted.cells(tensor).get(0);
    requireRows(rows);
    int[] labels = new int[rows.length];
    for (int i = 0; i < rows.length; i++) {
      int code = store.get((int) rows[i]);
      try {
        labels[i] = cell.index(code < 0 ? null : store.keys().get(code));
      } catch (TableValueException e) {
        throw e.at(place.apply((int) rows[i]));
      }
    }
    return labels;
  }

  /**
   * Returns where a row comes from, for example beside its score.
   *
   * @param row its index
   * @return such as {@code data.csv, line 7}
   * @throws IndexOutOfBoundsException if there is no such row
   */
  public String place(long row) {
    requireRows(row);
    return place.apply((int) row);
  }

  private CellStore.OfCategory onlyCategory(String tensor) {
    List<CellStore> all = stores(requireNonNull(tensor, "tensor"));
    if (all.size() == 1
        && all.get(0) instanceof CellStore.OfCategory store
        && columns.tensor(tensor).form() == TableTensor.Form.CATEGORIES) {
      return store;
    }
    throw new IllegalArgumentException(
        "the tensor %s must be of one column of categories".formatted(tensor));
  }

  private List<CellStore> stores(String tensor) {
    int from = 0;
    for (TableTensor each : columns.tensors()) {
      int to = from + each.cells().size();
      if (each.name().equals(tensor)) {
        return stores.subList(from, to);
      }
      from = to;
    }
    columns.tensor(tensor); // names the tensors
    throw new AssertionError(tensor);
  }

  /**
   * Learns from all rows.
   *
   * @return the learned columns
   * @throws IllegalArgumentException if there is no row, or as {@link TableLearner#fit}
   */
  public FittedColumns fit() {
    return fit(LongStream.range(0, size).toArray());
  }

  /**
   * Learns from some rows, the ones of the training.
   *
   * @param rows their indices
   * @return the learned columns
   * @throws IndexOutOfBoundsException if there is no such row
   * @throws IllegalArgumentException if there is no row, or as {@link TableLearner#fit}
   */
  public FittedColumns fit(long... rows) {
    requireRows(rows);
    if (rows.length == 0) {
      throw new IllegalArgumentException(
          "at least one training row is needed, got none of %d rows".formatted(size));
    }
    return FittedColumns.of(
        columns, stores.stream().map(each -> each.learner(rows)).toArray(CellLearner[]::new));
  }

  private void requireRows(long... rows) {
    for (long row : requireNonNull(rows, "rows")) {
      Checks.requireIndex("row", row, size);
    }
  }

  /**
   * Makes tensors of all rows, in their order.
   *
   * @param fitted learned from these rows or of others of the same columns
   * @return a dataset with a column for each tensor, by its name; the caller closes it
   * @throws TableValueException if a category is not in the vocabulary, or a number is too large;
   *     it names the row
   * @throws IllegalArgumentException if the columns are others
   */
  public TensorDataset dataset(FittedColumns fitted) {
    requireFitted(requireNonNull(fitted, "fitted"));
    TensorFiller[] fillers =
        columns.tensors().stream()
            .map(
                each ->
                    new TensorFiller(
                        fitted.encoder(each.name()).row(),
                        fitted.cells(each.name()),
                        stores(each.name()),
                        place,
                        size))
            .toArray(TensorFiller[]::new);
    return TensorFiller.dataset(Arrays.asList(fillers));
  }

  private void requireFitted(FittedColumns fitted) {
    if (!fitted.columns().equals(columns)) {
      throw new IllegalArgumentException(
          "the rows were read for %s, but the learned columns are %s; read them for its columns()"
              .formatted(columns, fitted.columns()));
    }
  }
}
