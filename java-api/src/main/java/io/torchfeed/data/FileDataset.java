// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.FileColumns;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;

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
 * <p>The loader's threads read the rows of a batch straight into its memory, through the page cache
 * of the operating system, and neighbours at once. The files are read and not mapped: a file that
 * is cut off under a mapping ends the JVM with a SIGBUS, while a read that fails costs one batch,
 * which throws {@link SampleException}. Files are opened here and stay open until this dataset and
 * the loaders over it are closed, so they may be renamed or removed meanwhile; a write into them
 * shows in batches read later. Thread-safe.
 */
public final class FileDataset implements AutoCloseable {
  private final NativeHandle<FileColumns> files;
  private final List<FileColumn> columns;

  private FileDataset(NativeHandle<FileColumns> files, List<FileColumn> columns) {
    this.files = files;
    this.columns = columns;
  }

  /**
   * Opens the files of a dataset.
   *
   * @param columns at least one, of equally many rows
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no column, one has another number of rows than the
   *     first, or a file is shorter than when its column was made
   * @throws UncheckedIOException if a file cannot be opened
   */
  public static FileDataset of(FileColumn... columns) {
    List<FileColumn> all = List.of(columns);
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
    NativeHandle<FileColumns> files = NativeHandle.create("FileDataset", FileColumns::create);
    try {
      files.run(opened -> all.forEach(column -> column.openIn(opened)));
    } catch (NativeException e) {
      files.close();
      throw e.code() == NativeException.Code.UNREADABLE
          ? new UncheckedIOException(new IOException(e.getMessage(), e))
          : e;
    } catch (RuntimeException | Error e) {
      files.close();
      throw e;
    }
    return new FileDataset(files, all);
  }

  /**
   * The number of samples.
   *
   * @return the number of rows of every column
   */
  public long size() {
    return columns.get(0).rows();
  }

  /**
   * The number of columns, and so of tensors in a batch.
   *
   * @return the number of columns, at least 1
   */
  public int columns() {
    return columns.size();
  }

  /**
   * One column.
   *
   * @param column the number of the column
   * @return what it was opened from
   * @throws IndexOutOfBoundsException if there is no such column
   */
  public FileColumn column(int column) {
    return columns.get(Objects.checkIndex(column, columns.size()));
  }

  /** The open files once more, with a life of their own. */
  HeldRows share(String owner) {
    return HeldRows.of(
        files.call(opened -> NativeHandle.create(owner, opened::share)), BatchFeed::over_files);
  }

  /**
   * Lets go of the files. Silent the second time; loaders that are already built go on and keep
   * them open.
   */
  @Override
  public void close() {
    files.close();
  }
}
