// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** What a line holds, and so which rank its parts go to. Source: Paracel's load patterns. */
public enum LinePattern {
  /** Any text; stays with the rank that reads it. */
  LINESPLIT(1),

  /** {@code a,b} or {@code a,b,w}: an edge, owned by the rank of its first field. */
  FMAP(32),

  /** {@code a,b} or {@code a,b,w}: an edge, owned by the rank of its second field. */
  SMAP(32),

  /** {@code a,b} or {@code a,b,w}: an edge, owned by the rank of the cell of both fields. */
  FSMAP(32),

  /** {@code id,x1,…,xk}: a dense row; stays with the rank that reads it. */
  FVEC(1),

  /** {@code a,b,c,…} or {@code a,b:w,c:w,…}: many edges, owned by the rank of the first field. */
  FSET(32);

  private final int blocksPerRank;

  LinePattern(int blocksPerRank) {
    this.blocksPerRank = blocksPerRank;
  }

  /**
   * Into how many blocks the bytes of a rank are divided.
   *
   * @return 1 for the patterns whose lines stay where they are read, otherwise 32
   */
  public int blocksPerRank() {
    return blocksPerRank;
  }

  /**
   * Whether lines are edges, which go to the ranks that own them.
   *
   * @return false for {@link #LINESPLIT} and {@link #FVEC}
   */
  public boolean isExchanged() {
    return this != LINESPLIT && this != FVEC;
  }
}
