// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import static java.util.Objects.requireNonNull;

/**
 * The owner of rows: the base of all datasets that native code reads. The loader takes its own
 * reference to the rows here, which users of the dataset do not see. Thread-safe.
 */
public abstract class RowOwner {
  private final NativeHandle<RowSet> rows;
  private final boolean takesSeed;

  /**
   * Takes ownership of rows.
   *
   * @param rows the rows
   * @param takesSeed whether rows may have random steps, drawn for the seed of the loader
   */
  protected RowOwner(NativeHandle<RowSet> rows, boolean takesSeed) {
    this.rows = requireNonNull(rows, "rows");
    this.takesSeed = takesSeed;
  }

  /**
   * Returns the rows of a dataset.
   *
   * @param owner the dataset
   * @return its rows, which are closed together with it
   */
  public static NativeHandle<RowSet> rows(RowOwner owner) {
    return owner.rows;
  }

  /**
   * Returns whether rows may have random steps.
   *
   * @param owner the dataset
   * @return true if rows are drawn for the seed of the loader, which others refuse
   */
  public static boolean takesSeed(RowOwner owner) {
    return owner.takesSeed;
  }

  /**
   * Returns a second reference to the rows of a dataset, with an independent lifetime.
   *
   * @param owner the dataset
   * @param name the later holder of the reference, for messages
   * @return the reference, for the caller to close
   */
  public static NativeHandle<RowSet> share(RowOwner owner, String name) {
    return owner.rows.call(set -> NativeHandle.create(name, set::share));
  }
}
