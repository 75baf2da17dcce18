// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * A dataset whose rows native code gathers into batches without calling Java: {@link
 * TensorDataset}, {@link io.torchfeed.data.source.FileDataset}, and subsets and concatenations of
 * these. Thread-safe.
 */
public abstract class NativeDataset implements AutoCloseable {
  private final NativeHandle<RowSet> rows;
  private final long size;
  private final List<RowSpec> columns;

  /**
   * Takes ownership of rows, which {@link #close} releases. Only torchfeed's own datasets extend
   * this class: the type of the parameter is not exported.
   *
   * @param rows the rows
   * @param columns the dtype and shape of a row of each column
   */
  @SuppressWarnings("exports")
  protected NativeDataset(NativeHandle<RowSet> rows, List<RowSpec> columns) {
    this.rows = requireNonNull(rows, "rows");
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

  /** Returns a second reference to the rows, with an independent lifetime. */
  final NativeHandle<RowSet> share(String owner) {
    return rows.call(set -> NativeHandle.create(owner, set::share));
  }

  /**
   * Releases the rows. Idempotent; loaders that are already built continue to work, since they hold
   * their own references to the rows.
   */
  @Override
  public final void close() {
    rows.close();
  }
}
