// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.List;

/**
 * The edges that one rank owns, as they came: by the rank that read them and, of one rank, in the
 * order of the lines. 16 bytes an edge. Immutable.
 *
 * <p>The graphs and matrices are made of it: {@link Bigraph}, {@link Digraph}, {@link
 * UndirectedGraph}, {@link SparseMatrix}.
 */
public final class Edges {
  private final List<EdgeChunks> bySender;
  private final IdMap firsts;
  private final IdMap seconds;

  /** From the number by arrival to the local number. */
  private final int[] firstNumbers;

  private final int[] secondNumbers;
  private final long lines;
  private final LineErrors errors;
  private final EdgeRules rules;
  private final OwnerGrid grid;
  private final int rank;
  private final boolean bothEnds;

  Edges(
      EdgeInbox inbox,
      long lines,
      LineErrors errors,
      EdgeRules rules,
      OwnerGrid grid,
      int rank,
      boolean bothEnds) {
    bySender = inbox.edges();
    firsts = inbox.firsts.sorted();
    seconds = inbox.seconds.sorted();
    firstNumbers = inbox.firsts.numbersIn(firsts);
    secondNumbers = inbox.seconds.numbersIn(seconds);
    this.lines = lines;
    this.errors = errors;
    this.rules = rules;
    this.grid = grid;
    this.rank = rank;
    this.bothEnds = bothEnds;
  }

  /**
   * How many edges there are, repeated ones each time.
   *
   * @return the number of edges, at least 0
   */
  public long size() {
    return bySender.stream().mapToLong(EdgeChunks::size).sum();
  }

  /**
   * How many lines this rank read.
   *
   * @return the number of lines, blank ones and those that were left out among them
   */
  public long lines() {
    return lines;
  }

  /**
   * The ids of the first fields.
   *
   * @return the ids and their local numbers
   */
  public IdMap firstIds() {
    return firsts;
  }

  /**
   * The ids of the second fields.
   *
   * @return the ids and their local numbers
   */
  public IdMap secondIds() {
    return seconds;
  }

  /**
   * Visits all edges in their order.
   *
   * @param visitor gets local numbers of {@link #firstIds} and {@link #secondIds}, and the weight
   */
  public void forEach(EdgeVisitor visitor) {
    forEach(firstNumbers, secondNumbers, visitor);
  }

  private void forEach(int[] firstNumber, int[] secondNumber, EdgeVisitor visitor) {
    for (EdgeChunks chunks : bySender) {
      chunks.forEach(
          (first, second, weight) ->
              visitor.edge(firstNumber[first], secondNumber[second], weight));
    }
  }

  /**
   * Visits all edges in their order, with numbers of larger maps.
   *
   * @param first has all of {@link #firstIds}
   * @param second has all of {@link #secondIds}
   */
  void forEach(IdMap first, IdMap second, EdgeVisitor visitor) {
    forEach(
        renumbered(firstNumbers, firsts, first),
        renumbered(secondNumbers, seconds, second),
        visitor);
  }

  private static int[] renumbered(int[] numbers, IdMap from, IdMap to) {
    if (from.equals(to)) {
      return numbers;
    }
    int[] inTo = IdMaps.numbersIn(to, from);
    int[] moved = new int[numbers.length];
    for (int i = 0; i < moved.length; i++) {
      moved[i] = inTo[numbers[i]];
    }
    return moved;
  }

  /**
   * The lines that this rank read and left out.
   *
   * @return the errors; none if the policy is to fail
   */
  public LineErrors errors() {
    return errors;
  }

  EdgeRules rules() {
    return rules;
  }

  OwnerGrid grid() {
    return grid;
  }

  int rank() {
    return rank;
  }

  /** Whether all edges at the ids of this rank are here, not only those that begin there. */
  boolean hasBothEnds() {
    return bothEnds || grid.rows() * grid.columns() == 1;
  }
}
