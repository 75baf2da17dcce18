// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * The ranks as a grid, and which of them owns an edge: rank r stands in row r div columns and
 * column r mod columns; the first field's hash picks the row, the second's the column.
 *
 * <p>Source: Paracel's decomp.hpp and loader.hpp.
 *
 * @param rows number of rows, at least 1
 * @param columns number of columns, at least 1
 */
public record OwnerGrid(int rows, int columns) {
  /**
   * A grid.
   *
   * @param rows number of rows, at least 1
   * @param columns number of columns, at least 1
   * @throws IllegalArgumentException if an argument is below 1 or there are 2<sup>31</sup> cells or
   *     more
   */
  public OwnerGrid {
    if (rows < 1 || columns < 1 || (long) rows * columns > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "rows and columns must be at least 1 and have at most %d cells, got %d x %d"
              .formatted(Integer.MAX_VALUE, rows, columns));
    }
  }

  /**
   * The grid of a pattern: a row for {@link LinePattern#SMAP}; for {@link LinePattern#FSMAP} as
   * square as the number of ranks allows, not more rows than columns, unless there is but one row:
   * then a column, as for all others.
   *
   * @param pattern what the lines hold
   * @param worldSize number of ranks, at least 1
   * @return the grid
   * @throws IllegalArgumentException if worldSize is below 1
   */
  public static OwnerGrid of(LinePattern pattern, int worldSize) {
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize must be at least 1, got " + worldSize);
    }
    return switch (pattern) {
      case SMAP -> new OwnerGrid(1, worldSize);
      case FSMAP -> square(worldSize);
      case LINESPLIT, FMAP, FVEC, FSET -> new OwnerGrid(worldSize, 1);
    };
  }

  private static OwnerGrid square(int worldSize) {
    int rows = (int) Math.sqrt(worldSize);
    while (worldSize % rows != 0) {
      rows--;
    }
    return rows == 1 ? new OwnerGrid(worldSize, 1) : new OwnerGrid(rows, worldSize / rows);
  }

  /**
   * The rank that owns an edge.
   *
   * @param firstHash the hash of its first field, as an unsigned number
   * @param secondHash the hash of its second field, as an unsigned number
   * @return the rank, in [0, rows · columns - 1]
   */
  public int owner(long firstHash, long secondHash) {
    return place(firstHash, rows) * columns + place(secondHash, columns);
  }

  /** Most ids are small, and signed division is faster. */
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
