// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

/**
 * A sparse matrix: first fields are rows, second fields columns, weights values; cells that occur
 * several times are summed. Holds one rank's part. Immutable.
 *
 * <p>Row numbers are shared by the ranks in one row of the {@link ProcessGrid}, column numbers by
 * the ranks in one column: with {@link LinePattern#EDGES_BY_SOURCE}, each rank has its own rows,
 * and all ranks share the columns.
 */
public final class SparseMatrix {
  private final IdMap rowIds;
  private final IdMap columnIds;
  private final CsrMatrix cells;

  SparseMatrix(IdMap rowIds, IdMap columnIds, CsrMatrix cells) {
    this.rowIds = rowIds;
    this.columnIds = columnIds;
    this.cells = cells;
  }

  /**
   * Builds the matrix of the edges. All ranks must call it, since they have to agree on the
   * numbers.
   *
   * @param edges the edges
   * @param exchange connects the ranks
   * @return the matrix
   * @throws ExchangeException if another rank fails
   * @throws IllegalStateException if there are too many cells for Java's arrays
   */
  public static SparseMatrix of(Edges edges, AllToAll exchange) {
    requireNonNull(edges, "edges");
    requireNonNull(exchange, "exchange");
    ProcessGrid grid = edges.grid();
    int rank = edges.rank();
    int worldSize = grid.rows() * grid.columns();
    IdMap rowIds =
        IdMaps.shared(
            edges.firstIds(), worldSize, rank, other -> grid.isSameRow(rank, other), exchange);
    IdMap columnIds =
        IdMaps.shared(
            edges.secondIds(), worldSize, rank, other -> grid.isSameColumn(rank, other), exchange);
    CsrMatrix cells =
        CsrMatrix.of(
            rowIds.size(),
            columnIds.size(),
            visitor -> edges.forEach(rowIds, columnIds, visitor),
            EdgeLoader.DuplicatePolicy.SUM,
            (row, column) -> BipartiteGraph.repeated(rowIds.name(row), columnIds.name(column)));
    return new SparseMatrix(rowIds, columnIds, cells);
  }

  /**
   * Returns the ids of the rows.
   *
   * @return the ids, by row
   */
  public IdMap rowIds() {
    return rowIds;
  }

  /**
   * Returns the ids of the columns.
   *
   * @return the ids, by column
   */
  public IdMap columnIds() {
    return columnIds;
  }

  /**
   * Returns the cells that are not empty.
   *
   * @return rows, columns and values
   */
  public CsrMatrix cells() {
    return cells;
  }
}
