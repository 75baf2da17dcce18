// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.FileColumns;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;

/**
 * A dataset of samples of fixed size in files, which may be larger than memory: sample {@code i} is
 * row {@code i} of each column.
 *
 * <pre>{@code
 * try (var data = FileDataset.of(FileColumn.idx(images), FileColumn.idx(labels));
 *     var loader = DataLoader.over(data).batchSize(256).build();
 *     var batches = loader.epoch(0)) {
 *   batches.forEach(batch -> step(batch.tensor(0), batch.tensor(1)));
 * }
 * }</pre>
 *
 * <p>The loader's threads copy the rows of a batch from the page cache of the operating system
 * straight into its memory. Files on local disks are mapped for this: their pages in use count as
 * resident memory of the process, which the system takes back when it needs it. With {@code
 * TORCHFEED_MAPPED_FILES=0} in the environment they are read instead, for containers that are
 * stopped at a size of that memory. A file that is truncated, or whose disk fails, costs one batch,
 * which throws {@link io.torchfeed.data.SampleException}: the SIGBUS of a mapped file is caught,
 * and a handler that was set before gets all others. The files are opened when the dataset is
 * created and stay open until this dataset and the loaders over it are closed, so they may be
 * renamed or removed in the meantime; writes to them are visible in batches read later.
 * Thread-safe.
 */
public final class FileDataset extends NativeDataset {
  private final List<FileColumn> columns;

  private FileDataset(NativeHandle<RowSet> rows, List<FileColumn> columns) {
    super(rows, columns.stream().map(FileColumn::row).toList());
    this.columns = columns;
  }

  /**
   * Opens the files of a dataset.
   *
   * @param columns at least one column, all with the same number of rows
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no column, one has another number of rows than the
   *     first, or a file is shorter than when its column was created
   * @throws UncheckedIOException if a file cannot be opened
   */
  public static FileDataset of(FileColumn... columns) {
    requireNonNull(columns, "columns");
    List<FileColumn> all = Checks.copyOf("columns", Arrays.asList(columns));
    if (all.isEmpty()) {
      throw new IllegalArgumentException("a FileDataset needs at least one column");
    }
    for (int i = 0; i < columns.length; i++) {
      if (columns[i].rows() != columns[0].rows()) {
        throw new IllegalArgumentException(
            "column %d must have as many rows as column 0 (%s), got %s"
                .formatted(i, columns[0], columns[i]));
      }
    }
    try {
      return new FileDataset(NativeHandle.create("FileDataset", () -> rows(all)), all);
    } catch (NativeException e) {
      throw e.code() == NativeException.Code.UNREADABLE
          ? new UncheckedIOException(Failures.reason(e), new IOException(e))
          : e;
    }
  }

  /** Opens the files in the {@code PointerScope} of the caller, which frees the temporaries. */
  private static RowSet rows(List<FileColumn> columns) {
    FileColumns files = FileColumns.create();
    columns.forEach(column -> column.openIn(files));
    return RowSet.of_files(files);
  }

  /**
   * Returns one column.
   *
   * @param column the number of the column
   * @return the column that was passed to {@link #of}
   * @throws IndexOutOfBoundsException if there is no such column
   */
  public FileColumn column(int column) {
    return columns.get(Checks.requireIndex("column", column, columns.size()));
  }
}
