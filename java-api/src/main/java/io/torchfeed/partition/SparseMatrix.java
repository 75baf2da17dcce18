// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * A sparse matrix: first fields are rows, second fields columns, weights values; cells that are
 * there several times are summed. One rank's part. Immutable.
 *
 * <p>Row numbers are common to the ranks of one row of the {@link OwnerGrid}, column numbers to
 * those of one column: so with {@link LinePattern#FMAP} rows are the rank's own and columns common
 * to all.
 */
public final class SparseMatrix {
  private final IdMap rowIds;
  private final IdMap columnIds;
  private final CompressedRows cells;

  SparseMatrix(IdMap rowIds, IdMap columnIds, CompressedRows cells) {
    this.rowIds = rowIds;
    this.columnIds = columnIds;
    this.cells = cells;
  }

  /**
   * The matrix of the edges. All ranks must call it, since they agree on the numbers.
   *
   * @param edges the edges
   * @param exchange joins the ranks
   * @return the matrix
   * @throws ExchangeException if another rank fails
   * @throws IllegalStateException if the cells are too many for Java's arrays
   */
  public static SparseMatrix of(Edges edges, AllToAll exchange) {
    OwnerGrid grid = edges.grid();
    int rank = edges.rank();
    int worldSize = grid.rows() * grid.columns();
    IdMap rowIds =
        IdMaps.shared(
            edges.firstIds(), rank, worldSize, other -> grid.isSameRow(rank, other), exchange);
    IdMap columnIds =
        IdMaps.shared(
            edges.secondIds(), rank, worldSize, other -> grid.isSameColumn(rank, other), exchange);
    CompressedRows cells =
        CompressedRows.of(
            rowIds.size(),
            columnIds.size(),
            visitor -> edges.forEach(rowIds, columnIds, visitor),
            Duplicates.SUM,
            (row, column) -> Bigraph.repeated(rowIds.name(row), columnIds.name(column)));
    return new SparseMatrix(rowIds, columnIds, cells);
  }

  /**
   * The ids of the rows.
   *
   * @return the ids, by row
   */
  public IdMap rowIds() {
    return rowIds;
  }

  /**
   * The ids of the columns.
   *
   * @return the ids, by column
   */
  public IdMap columnIds() {
    return columnIds;
  }

  /**
   * The cells that are not empty.
   *
   * @return rows, columns and values
   */
  public CompressedRows cells() {
    return cells;
  }
}
