// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.engine.NativeRows;
import io.torchfeed.memory.RowSpec;
import java.util.List;
import java.util.function.Function;

/**
 * A dataset whose rows native code gathers into batches without calling Java: {@link TensorDataset}
 * and {@link io.torchfeed.data.source.FileDataset}. Thread-safe.
 */
public abstract class NativeDataset implements AutoCloseable {
  private final NativeHandle<?> rows;
  private final long size;
  private final List<RowSpec> columns;
  private final Function<String, NativeRows> share;

  /**
   * Takes ownership of rows. Only torchfeed's own datasets extend this class: the types of the
   * parameters are not exported.
   *
   * @param rows the rows, released by {@link #close}
   * @param size the number of rows
   * @param columns the dtype and shape of a row of each column
   * @param share returns a second reference to the rows, for an owner of the given name, with an
   *     independent lifetime
   */
  @SuppressWarnings("exports")
  protected NativeDataset(
      NativeHandle<?> rows, long size, List<RowSpec> columns, Function<String, NativeRows> share) {
    this.rows = requireNonNull(rows, "rows");
    this.size = size;
    this.columns = List.copyOf(columns);
    this.share = requireNonNull(share, "share");
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

  /** Returns a second reference to the rows with an independent lifetime. */
  final NativeRows share(String owner) {
    return share.apply(owner);
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
