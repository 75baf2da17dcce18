// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import java.util.List;

/**
 * The rows of a rank, in local files of its executor. They are read through the page cache, as
 * often as needed, and vanish with the rank. Thread-safe.
 *
 * <p>Torchfeed implements it; a program may, too, to test its {@link RankTask} without Spark.
 */
public interface RankRows extends AutoCloseable {
  /**
   * Returns the rows as a dataset, for example to concatenate or transform.
   *
   * @return a dataset with the columns {@link #columns}; closed with these rows
   */
  NativeDataset dataset();

  /**
   * Returns the number of rows of this rank; ranks may have different numbers.
   *
   * @return at least 0
   */
  default long size() {
    return dataset().size();
  }

  /**
   * Returns the columns, in the order of a batch's tensors.
   *
   * @return an unmodifiable list
   */
  List<RowColumn> columns();

  /**
   * Returns the number of a column.
   *
   * @param name the column's name in the DataFrame
   * @return for {@code Batch.tensor}, which takes the name, too
   * @throws IllegalArgumentException if there is no such column
   */
  default int column(String name) {
    requireNonNull(name, "name");
    List<String> names = columns().stream().map(RowColumn::name).toList();
    if (!names.contains(name)) {
      throw new IllegalArgumentException(
          "the column must be one of %s, got %s".formatted(names, name));
    }
    return names.indexOf(name);
  }

  /**
   * Returns a builder of a loader over these rows. Its sampler is one of a whole dataset, for
   * example {@code ShuffledSampler.of(rows.size(), seed)}: all of the rows belong to this rank.
   *
   * @return a builder
   */
  default DataLoaderBuilder loader() {
    return DataLoader.over(dataset());
  }

  /**
   * Returns a digest of the rows in their order: two ranks with the same digest have the same rows.
   *
   * @return a SHA-256 of 64-bit hashes of the rows, in hexadecimal
   */
  String digest();

  /** Releases the rows; no effect the second time. They are closed for the rank at its end. */
  @Override
  void close();
}
