// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.FilePlan.GroupPlace;
import io.torchfeed.parquet.ParquetException.Problem;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The rows to be stored.
 *
 * @param sources of the columns
 * @param pieces of all files, in their order
 * @param identity texts that describe the columns and files: other ones mean other rows
 */
record StorePlan(List<ColumnSource> sources, List<Piece> pieces, List<String> identity) {
  private static final int BATCH_BYTES = 1 << 20;
  private static final int MAX_BATCH = 1 << 14;

  /**
   * A row group.
   *
   * @param number of the piece
   * @param file that has it
   * @param leaves of the file, source by source
   * @param group in the file
   * @param firstRow the number of its first row among all
   */
  record Piece(int number, FilePlan file, List<Leaf> leaves, GroupPlace group, long firstRow) {}

  /**
   * Makes a plan.
   *
   * @throws ParquetException if a file lacks a column, or has one that cannot be the tensor's
   */
  static StorePlan of(List<FilePlan> files, List<ColumnSource> sources) {
    List<String> identity = new ArrayList<>();
    sources.forEach(source -> identity.add("column " + source.describe()));
    List<Piece> pieces = new ArrayList<>();
    long row = 0;
    for (FilePlan file : files) {
      List<Leaf> leaves = leaves(file, sources);
      for (GroupPlace group : file.groups()) {
        pieces.add(new Piece(pieces.size(), file, leaves, group, row));
        row += group.rows();
      }
      Path name = Path.of(file.name()).getFileName();
      identity.add("file %s %d %s".formatted(name, file.rows(), file.identity()));
    }
    identity.replaceAll(text -> text.replace('\n', ' ')); // a line each
    return new StorePlan(List.copyOf(sources), List.copyOf(pieces), List.copyOf(identity));
  }

  private static List<Leaf> leaves(FilePlan file, List<ColumnSource> sources) {
    List<Leaf> leaves = new ArrayList<>();
    for (ColumnSource source : sources) {
      List<Leaf> own =
          source.paths().stream().map(path -> Leaf.find(file.name(), file.schema(), path)).toList();
      source.require(file.name(), own);
      leaves.addAll(own);
    }
    return List.copyOf(leaves);
  }

  long rows() {
    return pieces.stream().mapToLong(piece -> piece.group().rows()).sum();
  }

  /** Returns how many rows are read at once. */
  int batchRows() {
    long largest = columns().stream().mapToLong(RowSpec::bytes).max().orElse(1);
    return (int) Math.max(1, Math.min(MAX_BATCH, BATCH_BYTES / largest));
  }

  List<RowSpec> columns() {
    return sources.stream().map(ColumnSource::row).toList();
  }

  /** Returns the columns in a folder. */
  List<StoredColumn> storedIn(Path folder) {
    List<StoredColumn> stored = new ArrayList<>();
    for (RowSpec row : columns()) {
      stored.add(new StoredColumn(StoreNote.column(folder, stored.size()), row, rows()));
    }
    return stored;
  }

  /**
   * Requires that a folder has these rows.
   *
   * @param found the identity of the rows in it
   */
  void requireSame(Path folder, List<String> found) {
    for (int i = 0; i < Math.max(identity.size(), found.size()); i++) {
      String mine = i < identity.size() ? identity.get(i) : "nothing more";
      String other = i < found.size() ? found.get(i) : "nothing more";
      if (!mine.equals(other)) {
        throw new ParquetException(
            Problem.OTHER_ROWS,
            "%s has other rows: of %s, not of %s; delete it, or store in another folder"
                .formatted(folder, other, mine));
      }
    }
  }
}
