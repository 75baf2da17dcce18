// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

/**
 * A directed graph with its reverse: both ends of an edge are vertices. One rank's part: the edges
 * that it owns. Immutable.
 */
public final class Digraph {
  private final IdMap vertices;
  private final CompressedRows edges;
  private final CompressedRows reverse;

  Digraph(IdMap vertices, CompressedRows edges) {
    this.vertices = vertices;
    this.edges = edges;
    reverse = edges.transposed();
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
  public static Digraph of(Edges edges, Duplicates duplicates) {
    requireNonNull(duplicates, "duplicates");
    IdMap all = IdMaps.union(edges.firstIds(), edges.secondIds());
    return new Digraph(
        all,
        CompressedRows.of(
            all.size(),
            all.size(),
            visitor -> edges.forEach(all, all, visitor),
            duplicates,
            (row, column) -> Bigraph.repeated(all.name(row), all.name(column))));
  }

  /**
   * The vertices.
   *
   * @return their ids, by local number
   */
  public IdMap vertices() {
    return vertices;
  }

  /**
   * The edges: row u has the vertices to which u has an edge, and the weights.
   *
   * @return the edges
   */
  public CompressedRows edges() {
    return edges;
  }

  /**
   * The edges turned over: row v has the vertices that have an edge to v.
   *
   * @return the transpose of {@link #edges}
   */
  public CompressedRows reverse() {
    return reverse;
  }

  /**
   * How many edges begin at a vertex.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return the number of edges
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int outDegree(int vertex) {
    return edges.end(vertex) - edges.start(vertex);
  }

  /**
   * How many edges end at a vertex.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return the number of edges
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int inDegree(int vertex) {
    return reverse.end(vertex) - reverse.start(vertex);
  }

  /**
   * How many edges begin at a vertex on average.
   *
   * @return edges over vertices, 0 without vertices
   */
  public double averageDegree() {
    return vertices.size() == 0 ? 0 : (double) edges.entries() / vertices.size();
  }

  /**
   * Visits all edges, by the vertices where they begin.
   *
   * @param visitor gets the local numbers and the weight of each
   */
  public void traverse(EdgeVisitor visitor) {
    edges.forEach(visitor);
  }
}
