// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

/**
 * A graph of two kinds of vertices, with edges from left to right: first fields to second fields.
 * One rank's part: the edges that it owns. Immutable.
 *
 * <p>Paracel's {@code bigraph} is that with {@link Duplicates#LAST}, its {@code bigraph_continuous}
 * that with {@link Duplicates#KEEP}.
 */
public final class Bigraph {
  private final IdMap left;
  private final IdMap right;
  private final CompressedRows edges;

  Bigraph(IdMap left, IdMap right, CompressedRows edges) {
    this.left = left;
    this.right = right;
    this.edges = edges;
  }

  /**
   * The graph of the edges.
   *
   * @param edges the edges
   * @param duplicates what happens to repeated edges
   * @return the graph
   * @throws IllegalArgumentException if an edge is repeated and repeated ones are refused
   * @throws IllegalStateException if the edges are too many for Java's arrays
   */
  public static Bigraph of(Edges edges, Duplicates duplicates) {
    requireNonNull(duplicates, "duplicates");
    IdMap left = edges.firstIds();
    IdMap right = edges.secondIds();
    return new Bigraph(
        left,
        right,
        CompressedRows.of(
            left.size(),
            right.size(),
            edges::forEach,
            duplicates,
            (row, column) -> repeated(left.name(row), right.name(column))));
  }

  static IllegalArgumentException repeated(String from, String to) {
    return new IllegalArgumentException(
        "edges must not be repeated, but there are several from %s to %s; allow them by another"
                .formatted(from, to)
            + " rule for duplicates");
  }

  /**
   * The vertices on the left.
   *
   * @return their ids, by local number
   */
  public IdMap left() {
    return left;
  }

  /**
   * The vertices on the right.
   *
   * @return their ids, by local number
   */
  public IdMap right() {
    return right;
  }

  /**
   * The edges: rows are the vertices on the left, columns those on the right, values the weights.
   *
   * @return the edges
   */
  public CompressedRows edges() {
    return edges;
  }

  /**
   * How many edges a vertex on the left has.
   *
   * @param vertex its local number, in [0, size of left - 1]
   * @return the number of its edges
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int degree(int vertex) {
    return edges.end(vertex) - edges.start(vertex);
  }

  /**
   * Visits all edges, by vertices on the left.
   *
   * @param visitor gets the local numbers and the weight of each
   */
  public void traverse(EdgeVisitor visitor) {
    edges.forEach(visitor);
  }
}
