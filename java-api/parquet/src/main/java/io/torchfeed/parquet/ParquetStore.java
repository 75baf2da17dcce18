// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Rows that {@link ParquetRows#store} has written: a folder with a file {@code column-N.npy} for
 * each column, which NumPy and {@link FileColumn#npy} read, too, and a note on all of them. The
 * Parquet files are no longer needed.
 *
 * <p>Immutable and thread-safe.
 */
public final class ParquetStore {
  private final Path folder;
  private final StoreNote note;

  private ParquetStore(Path folder, StoreNote note) {
    this.folder = folder;
    this.note = note;
  }

  /**
   * Opens stored rows.
   *
   * @param folder of {@link ParquetRows#store}
   * @return the rows
   * @throws ParquetException if the folder has none, storing them was interrupted, or a file has
   *     another size
   */
  public static ParquetStore open(Path folder) {
    requireNonNull(folder, "folder");
    ParquetStore store = new ParquetStore(folder, StoreNote.read(folder));
    store.requireSizes();
    return store;
  }

  private void requireSizes() {
    for (StoredColumn column : note.storedIn(folder)) {
      try {
        long size = Files.size(column.file());
        if (size != column.offset(note.rows())) {
          throw new ParquetException(
              Problem.OTHER_ROWS,
              "%s must have %d bytes, got %d; delete the folder and store the rows again"
                  .formatted(column.file(), column.offset(note.rows()), size));
        }
      } catch (IOException e) {
        throw unreadable(e);
      }
    }
  }

  private ParquetException unreadable(IOException cause) {
    return new ParquetException(
        Problem.FOLDER,
        "%s cannot be read: %s".formatted(folder, ParquetException.reason(cause)),
        cause);
  }

  StoreNote note() {
    return note;
  }

  /**
   * Returns the number of rows.
   *
   * @return at least 0
   */
  public long size() {
    return note.rows();
  }

  /**
   * Returns the names, dtypes and shapes of the columns.
   *
   * @return an unmodifiable list
   */
  public List<RowSpec> columns() {
    return note.columns();
  }

  /**
   * Returns a digest of the rows in their order: two folders with the same digest have the same
   * rows. Rows that are in other row groups have another one.
   *
   * @return a SHA-256 in hexadecimal
   */
  public String digest() {
    return note.digest();
  }

  /**
   * Opens the rows as a dataset, for every sampler and both engines.
   *
   * @return the dataset, with the names of the columns; the caller closes it
   * @throws java.io.UncheckedIOException if a file cannot be opened
   */
  public FileDataset dataset() {
    return FileDataset.of(
        note.storedIn(folder).stream().map(StoredColumn::column).toArray(FileColumn[]::new));
  }

  /**
   * Reads all files, and requires the rows that were stored.
   *
   * @throws ParquetException if rows have changed since, or cannot be read; it names them
   */
  public void verify() {
    List<StoredColumn> columns = note.storedIn(folder);
    long row = 0;
    for (StoreNote.Group group : note.groups()) {
      try {
        if (!StoreFolder.hash(columns, row, group.rows()).equals(group.hash())) {
          throw new ParquetException(
              Problem.OTHER_ROWS,
              "%s: rows %d to %d have changed since they were stored; delete the folder and store them again"
                  .formatted(folder, row, row + group.rows() - 1));
        }
      } catch (IOException e) {
        throw unreadable(e);
      }
      row += group.rows();
    }
  }

  /** Returns the folder, and the number of rows. */
  @Override
  public String toString() {
    return "%d rows in %s".formatted(size(), folder);
  }
}
