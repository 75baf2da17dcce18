// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowOwner;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.ColumnNames;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.RowTransform;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * A dataset whose rows native code gathers into batches without calling Java: {@link
 * TensorDataset}, {@link io.torchfeed.data.source.FileDataset}, {@link
 * io.torchfeed.data.source.ImageFolder}, {@link io.torchfeed.data.source.ImageRecords}, and
 * subsets, concatenations and transforms of these. Thread-safe.
 */
@SuppressWarnings("exports")
public abstract class NativeDataset extends RowOwner implements AutoCloseable {
  private static final String SELECTION = "NativeDataset";

  private final long size;
  private final List<RowSpec> columns;

  /**
   * Takes ownership of rows, which {@link #close} releases. Only torchfeed's own datasets extend
   * this class: the type of the parameter is not exported.
   *
   * @param rows the rows
   * @param columns the dtype and shape of a row of each column
   */
  protected NativeDataset(NativeHandle<RowSet> rows, List<RowSpec> columns) {
    this(rows, columns, false);
  }

  /**
   * Takes ownership of rows, which {@link #close} releases, as the other constructor.
   *
   * @param rows the rows
   * @param columns the dtype and shape of a row of each column
   * @param takesSeed whether rows can have random steps, drawn for the seed of the loader, the
   *     epoch and the index; a seed is refused for other datasets
   */
  protected NativeDataset(NativeHandle<RowSet> rows, List<RowSpec> columns, boolean takesSeed) {
    super(rows, takesSeed);
    this.size = rows.callLong(RowSet::rows);
    this.columns = List.copyOf(columns);
  }

  /**
   * Returns the number of samples.
   *
   * @return the number of rows of every column
   */
  public final long size() {
    return size;
  }

  /**
   * Returns the dtype and shape of one row of each column: a batch of {@code B} samples has a
   * tensor {@code [B, shape...]} for each of them.
   *
   * @return the columns, at least one
   */
  public final List<RowSpec> columns() {
    return columns;
  }

  /**
   * Returns this dataset with names of its columns, for {@code Batch.tensor}:
   *
   * <pre>{@code
   * NativeDataset data = TensorDataset.of(images, labels).withNames("image", "label");
   * }</pre>
   *
   * <p>Both are the same rows: to close one of them closes the other.
   *
   * @param names a name for each column, in their order, each another one; empty for none
   * @return the dataset with the names
   * @throws IllegalArgumentException if there are more or fewer names than columns, or two are the
   *     same
   */
  public NativeDataset withNames(String... names) {
    return new Selection(rows(this), named(names), takesSeed(this));
  }

  /** Returns the columns of this dataset with other names. */
  final List<RowSpec> named(String... names) {
    List<String> all = Checks.copyOf("names", Arrays.asList(requireNonNull(names, "names")));
    if (all.size() != columns.size()) {
      throw new IllegalArgumentException(
          "a name is needed for each of the columns %s, got %s".formatted(columns, all));
    }
    ColumnNames.of(all);
    List<RowSpec> named = new ArrayList<>();
    for (int i = 0; i < names.length; i++) {
      named.add(columns.get(i).withName(all.get(i)));
    }
    return named;
  }

  /**
   * Returns a dataset of some samples of this dataset, in the given order. It refers to the same
   * rows without copying them and stays usable after this dataset is closed.
   *
   * @param indices dataset indices, each in [0, size()); copied
   * @return a dataset of {@code indices.length} samples; the caller closes it
   * @throws IllegalArgumentException if an index is out of range, or subsets of concatenations of
   *     subsets are nested more than 1000 deep; subsets of a subset are one
   * @throws IllegalStateException if this dataset is closed, or the machine has too little memory
   */
  public final NativeDataset subset(long... indices) {
    requireNonNull(indices, "indices");
    return new Selection(
        rows(this).call(set -> create(() -> set.subset(indices, indices.length))),
        columns,
        takesSeed(this));
  }

  /**
   * Returns this dataset with the rows of a column transformed, each on its own, by the native code
   * that gathers them. It refers to the same rows without copying them and stays usable after this
   * dataset is closed. Random steps are drawn for the index of the sample in the dataset that is
   * loaded.
   *
   * @param column the number of the column
   * @param transform the transform of its rows
   * @return a dataset of as many samples; the caller closes it
   * @throws IndexOutOfBoundsException if there is no such column
   * @throws IllegalArgumentException if the transform does not fit the rows of the column
   * @throws IllegalStateException if this dataset is closed, or the machine has too little memory
   */
  public final NativeDataset transform(int column, RowTransform transform) {
    requireNonNull(transform, "transform");
    List<RowSpec> changed = new ArrayList<>(columns);
    Checks.requireIndex("column", column, columns.size());
    changed.set(column, transform.row(columns.get(column)));
    double[] steps = Door.ROW_STEPS.of(transform);
    return new Selection(
        rows(this).call(set -> create(() -> set.transformed(column, steps, steps.length))),
        changed,
        takesSeed(this) || transform.isRandom());
  }

  /**
   * Returns the concatenation of datasets. It refers to the same rows without copying them and
   * stays usable after the parts are closed.
   *
   * @param parts datasets with the same columns, at least one, in order; the result has the names
   *     that only some of them have, too
   * @return a dataset of all their samples; the caller closes it
   * @throws IllegalArgumentException if there is none, their columns differ, or they are together
   *     more than 2<sup>20</sup> datasets (a part that is itself a concatenation counts as its
   *     parts), or nested too deep, as in {@link #subset}
   * @throws IllegalStateException if a part is closed, or the machine has too little memory
   */
  public static NativeDataset concat(List<? extends NativeDataset> parts) {
    List<NativeDataset> all = Checks.copyOf("parts", parts);
    if (all.isEmpty()) {
      throw new IllegalArgumentException("at least one dataset is needed, got none");
    }
    List<RowSpec> columns =
        ConcatDataset.columns(all.stream().map(NativeDataset::columns).toList());
    return new Selection(joined(all), columns, all.stream().anyMatch(RowOwner::takesSeed));
  }

  /** Joins halves, since each joining copies references to all parts. */
  private static NativeHandle<RowSet> joined(List<NativeDataset> parts) {
    if (parts.size() == 1) {
      return share(parts.get(0), SELECTION);
    }
    int middle = parts.size() / 2;
    try (NativeHandle<RowSet> first = joined(parts.subList(0, middle));
        NativeHandle<RowSet> second = joined(parts.subList(middle, parts.size()))) {
      return first.call(before -> second.call(after -> create(() -> before.concat(after))));
    }
  }

  private static NativeHandle<RowSet> create(Supplier<RowSet> factory) {
    try {
      return NativeHandle.create(SELECTION, factory);
    } catch (NativeException e) { // anything but a wrong argument
      throw new IllegalStateException("the rows could not be selected: " + e.getMessage(), e);
    }
  }

  /**
   * Releases the rows. Idempotent; loaders that are already built continue to work, since they hold
   * their own references to the rows.
   */
  @Override
  public final void close() {
    rows(this).close();
  }

  /** Rows of other datasets, selected or transformed. */
  private static final class Selection extends NativeDataset {
    Selection(NativeHandle<RowSet> rows, List<RowSpec> columns, boolean takesSeed) {
      super(rows, columns, takesSeed);
    }
  }
}
