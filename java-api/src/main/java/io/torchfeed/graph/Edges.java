// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.text.LineOptions;
import java.util.List;

/**
 * The edges that one rank owns, ordered by the rank that read them and, within a rank, by line.
 * Takes 16 bytes per edge. Immutable.
 *
 * <p>The source of graphs and matrices: {@link BipartiteGraph}, {@link Digraph}, {@link
 * UndirectedGraph}, {@link SparseMatrix}.
 */
public final class Edges {
  private final List<EdgeChunks> bySender;
  private final IdMap firsts;
  private final IdMap seconds;

  /** The local numbers, by arrival number. */
  private final int[] firstNumbers;

  private final int[] secondNumbers;
  private final long lines;
  private final LineErrors errors;
  private final EdgeRules rules;
  private final ProcessGrid grid;
  private final int rank;
  private final boolean bothEnds;

  Edges(
      ReceivedEdges inbox,
      long lines,
      LineErrors errors,
      EdgeRules rules,
      ProcessGrid grid,
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
   * Returns the number of edges, counting repeated edges each time.
   *
   * @return the number of edges, at least 0
   */
  public long size() {
    return bySender.stream().mapToLong(EdgeChunks::size).sum();
  }

  /**
   * Returns the number of lines that this rank read.
   *
   * @return the number of lines, including blank and skipped lines
   */
  public long lines() {
    return lines;
  }

  /**
   * Returns the ids of the first fields.
   *
   * @return the ids and their local numbers
   */
  public IdMap firstIds() {
    return firsts;
  }

  /**
   * Returns the ids of the second fields.
   *
   * @return the ids and their local numbers
   */
  public IdMap secondIds() {
    return seconds;
  }

  /**
   * Visits all edges in order.
   *
   * @param visitor receives local numbers of {@link #firstIds} and {@link #secondIds}, and the
   *     weight
   */
  public void forEach(EdgeVisitor visitor) {
    requireNonNull(visitor, "visitor");
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
   * Visits all edges in order, with the numbers of larger maps.
   *
   * @param first contains all of {@link #firstIds}
   * @param second contains all of {@link #secondIds}
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
   * Returns the lines that this rank read and skipped.
   *
   * @return the errors; empty if the policy is to fail
   */
  public LineErrors errors() {
    return errors;
  }

  EdgeRules rules() {
    return rules;
  }

  ProcessGrid grid() {
    return grid;
  }

  int rank() {
    return rank;
  }

  /**
   * Returns whether these are all edges at the ids of this rank, not only those that begin there.
   */
  boolean hasBothEnds() {
    return bothEnds || grid.rows() * grid.columns() == 1;
  }

  /** A visitor that receives edges, or the cells of a matrix, one by one. */
  @FunctionalInterface
  public interface EdgeVisitor {
    /**
     * Receives one edge.
     *
     * @param from the local number of the first id, or the row
     * @param to the local number of the second id, or the column
     * @param weight the weight, or the value
     */
    void edge(int from, int to, double weight);
  }

  /**
   * The lines that one rank skipped.
   *
   * @param count the number of lines
   * @param listed the first of these lines: up to 10,000 with {@link ErrorPolicy#COLLECT},
   *     otherwise none
   */
  public record LineErrors(long count, List<LineOptions.LineError> listed) {
    /**
     * Creates errors.
     *
     * @param count the number of lines skipped
     * @param listed the first of these lines
     */
    public LineErrors {
      requireNonNull(listed, "listed");
      listed = Checks.copyOf("listed", listed);
    }
  }
}
