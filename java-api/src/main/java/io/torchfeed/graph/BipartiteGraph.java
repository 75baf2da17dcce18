// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

/**
 * A bipartite graph, with edges from left to right: from first fields to second fields. Holds one
 * rank's part: the edges that it owns. Immutable.
 *
 * <p>Paracel's {@code bigraph} is this graph with {@link EdgeLoader.DuplicatePolicy#LAST}, its
 * {@code bigraph_continuous} this graph with {@link EdgeLoader.DuplicatePolicy#KEEP}.
 */
public final class BipartiteGraph {
  private final IdMap left;
  private final IdMap right;
  private final CsrMatrix edges;

  BipartiteGraph(IdMap left, IdMap right, CsrMatrix edges) {
    this.left = left;
    this.right = right;
    this.edges = edges;
  }

  /**
   * Builds the graph of the edges.
   *
   * @param edges the edges
   * @param duplicates how to treat repeated edges
   * @return the graph
   * @throws IllegalArgumentException if an edge is repeated and {@code duplicates} is {@link
   *     EdgeLoader.DuplicatePolicy#REFUSE}
   * @throws IllegalStateException if there are too many edges for Java's arrays
   */
  public static BipartiteGraph of(Edges edges, EdgeLoader.DuplicatePolicy duplicates) {
    requireNonNull(edges, "edges");
    requireNonNull(duplicates, "duplicates");
    IdMap left = edges.firstIds();
    IdMap right = edges.secondIds();
    return new BipartiteGraph(
        left,
        right,
        CsrMatrix.of(
            left.size(),
            right.size(),
            edges::forEach,
            duplicates,
            (row, column) -> repeated(left.name(row), right.name(column))));
  }

  static IllegalArgumentException repeated(String from, String to) {
    return new IllegalArgumentException(
        "edges must not be repeated, but there are several from %s to %s; allow them with another"
                .formatted(from, to)
            + " rule for duplicates");
  }

  /**
   * Returns the vertices on the left.
   *
   * @return their ids, by local number
   */
  public IdMap left() {
    return left;
  }

  /**
   * Returns the vertices on the right.
   *
   * @return their ids, by local number
   */
  public IdMap right() {
    return right;
  }

  /**
   * Returns the edges: rows are the vertices on the left, columns the vertices on the right, values
   * the weights.
   *
   * @return the edges
   */
  public CsrMatrix edges() {
    return edges;
  }

  /**
   * Returns the number of edges of a vertex on the left.
   *
   * @param vertex its local number, in [0, size of left - 1]
   * @return the number of its edges
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int degree(int vertex) {
    return edges.end(vertex) - edges.start(vertex);
  }

  /**
   * Visits all edges, ordered by their vertices on the left.
   *
   * @param visitor receives the local numbers and the weight of each edge
   */
  public void traverse(Edges.EdgeVisitor visitor) {
    requireNonNull(visitor, "visitor");
    edges.forEach(visitor);
  }
}
