// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

/**
 * A directed graph with its reverse: both ends of an edge are vertices of one set. Holds one rank's
 * part: the edges that it owns. Immutable.
 */
public final class Digraph {
  private final IdMap vertices;
  private final CsrMatrix edges;
  private final CsrMatrix reverse;

  Digraph(IdMap vertices, CsrMatrix edges) {
    this.vertices = vertices;
    this.edges = edges;
    reverse = edges.transposed();
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
  public static Digraph of(Edges edges, EdgeLoader.DuplicatePolicy duplicates) {
    requireNonNull(edges, "edges");
    requireNonNull(duplicates, "duplicates");
    IdMap all = IdMaps.union(edges.firstIds(), edges.secondIds());
    return new Digraph(
        all,
        CsrMatrix.of(
            all.size(),
            all.size(),
            visitor -> edges.forEach(all, all, visitor),
            duplicates,
            (row, column) -> BipartiteGraph.repeated(all.name(row), all.name(column))));
  }

  /**
   * Returns the vertices.
   *
   * @return their ids, by local number
   */
  public IdMap vertices() {
    return vertices;
  }

  /**
   * Returns the edges: row u holds the vertices to which u has an edge, and the weights.
   *
   * @return the edges
   */
  public CsrMatrix edges() {
    return edges;
  }

  /**
   * Returns the reversed edges: row v holds the vertices that have an edge to v.
   *
   * @return the transpose of {@link #edges}
   */
  public CsrMatrix reverse() {
    return reverse;
  }

  /**
   * Returns the number of edges that begin at a vertex.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return the number of edges
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int outDegree(int vertex) {
    return edges.end(vertex) - edges.start(vertex);
  }

  /**
   * Returns the number of edges that end at a vertex.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return the number of edges
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int inDegree(int vertex) {
    return reverse.end(vertex) - reverse.start(vertex);
  }

  /**
   * Returns the average number of edges that begin at a vertex.
   *
   * @return the number of edges divided by the number of vertices; 0 if there are no vertices
   */
  public double averageDegree() {
    return vertices.size() == 0 ? 0 : (double) edges.entries() / vertices.size();
  }

  /**
   * Visits all edges, ordered by the vertices at which they begin.
   *
   * @param visitor receives the local numbers and the weight of each edge
   */
  public void traverse(Edges.EdgeVisitor visitor) {
    requireNonNull(visitor, "visitor");
    edges.forEach(visitor);
  }
}
