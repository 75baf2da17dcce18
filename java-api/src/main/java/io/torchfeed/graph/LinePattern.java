// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/**
 * The content of a line, which determines the ranks that own its parts. Source: Paracel's load
 * patterns.
 */
public enum LinePattern {
  /** Any text; stays with the rank that reads it. Paracel: {@code linesplit}. */
  LINES(1),

  /**
   * {@code a,b} or {@code a,b,w}: an edge, owned by the rank of its first field. Paracel: {@code
   * fmap}.
   */
  EDGES_BY_SOURCE(32),

  /**
   * {@code a,b} or {@code a,b,w}: an edge, owned by the rank of its second field. Paracel: {@code
   * smap}.
   */
  EDGES_BY_TARGET(32),

  /**
   * {@code a,b} or {@code a,b,w}: an edge, owned by the rank of its cell, given by both fields.
   * Paracel: {@code fsmap}.
   */
  EDGES_BY_BLOCK(32),

  /** {@code id,x1,…,xk}: a dense row; stays with the rank that reads it. Paracel: {@code fvec}. */
  ROWS(1),

  /**
   * {@code a,b,c,…} or {@code a,b:w,c:w,…}: several edges, owned by the rank of the first field.
   * Paracel: {@code fset}.
   */
  ADJACENCY(32);

  private final int blocksPerRank;

  LinePattern(int blocksPerRank) {
    this.blocksPerRank = blocksPerRank;
  }

  /**
   * Returns the number of blocks into which the bytes of a rank are divided.
   *
   * @return 1 for the patterns whose lines stay where they are read, otherwise 32
   */
  public int blocksPerRank() {
    return blocksPerRank;
  }

  /**
   * Returns whether lines are edges, which are sent to the ranks that own them.
   *
   * @return false for {@link #LINES} and {@link #ROWS}
   */
  public boolean isExchanged() {
    return this != LINES && this != ROWS;
  }
}
