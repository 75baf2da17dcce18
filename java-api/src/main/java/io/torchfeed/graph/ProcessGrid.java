// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.internal.Checks;

/**
 * A grid of ranks that determines the owner of an edge: rank r is in row r div columns and column r
 * mod columns; the hash of the first field selects the row, the second field's the column.
 *
 * <p>Source: Paracel's decomp.hpp and loader.hpp.
 *
 * @param rows the number of rows, at least 1
 * @param columns the number of columns, at least 1
 */
record ProcessGrid(int rows, int columns) {
  /**
   * Creates a grid.
   *
   * @param rows the number of rows, at least 1
   * @param columns the number of columns, at least 1
   * @throws IllegalArgumentException if an argument is below 1, or there are 2<sup>31</sup> cells
   *     or more
   */
  public ProcessGrid {
    if (rows < 1 || columns < 1 || (long) rows * columns > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "rows and columns must be at least 1 and have at most %d cells, got %d x %d"
              .formatted(Integer.MAX_VALUE, rows, columns));
    }
  }

  /**
   * Returns the grid of a pattern: a single row for {@link LinePattern#EDGES_BY_TARGET}; for {@link
   * LinePattern#EDGES_BY_BLOCK}, as square as the number of ranks allows, with at most as many rows
   * as columns, or a single column if that would be a single row; a single column for all other
   * patterns.
   *
   * @param pattern the content of the lines
   * @param worldSize the number of ranks, at least 1
   * @return the grid
   * @throws IllegalArgumentException if worldSize is below 1
   */
  public static ProcessGrid of(LinePattern pattern, int worldSize) {
    Checks.requireWorldSize(worldSize);
    return switch (pattern) {
      case EDGES_BY_TARGET -> new ProcessGrid(1, worldSize);
      case EDGES_BY_BLOCK -> square(worldSize);
      case LINES, EDGES_BY_SOURCE, ROWS, ADJACENCY -> new ProcessGrid(worldSize, 1);
    };
  }

  private static ProcessGrid square(int worldSize) {
    int rows = (int) Math.sqrt(worldSize);
    while (worldSize % rows != 0) {
      rows--;
    }
    return rows == 1 ? new ProcessGrid(worldSize, 1) : new ProcessGrid(rows, worldSize / rows);
  }

  /**
   * Returns the rank that owns an edge.
   *
   * @param firstHash the hash of its first field, as an unsigned number
   * @param secondHash the hash of its second field, as an unsigned number
   * @return the rank, in [0, rows · columns - 1]
   */
  public int owner(long firstHash, long secondHash) {
    return place(firstHash, rows) * columns + place(secondHash, columns);
  }

  /** Returns the unsigned remainder; signed division is faster for small ids, as most are. */
  private static int place(long hash, int places) {
    if (places == 1) {
      return 0;
    }
    return (int) (hash >= 0 ? hash % places : Long.remainderUnsigned(hash, places));
  }

  boolean isSameRow(int rank, int other) {
    return rank / columns == other / columns;
  }

  boolean isSameColumn(int rank, int other) {
    return rank % columns == other % columns;
  }
}
