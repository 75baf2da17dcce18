// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

/**
 * An undirected graph: each edge is stored in both directions, a loop once. Holds one rank's part:
 * the vertices that it owns, with all their edges; other vertices occur only as neighbours, with an
 * empty row. Immutable.
 */
public final class UndirectedGraph {
  private final IdMap vertices;
  private final boolean[] owned;
  private final CsrMatrix neighbours;

  UndirectedGraph(IdMap vertices, boolean[] owned, CsrMatrix neighbours) {
    this.vertices = vertices;
    this.owned = owned;
    this.neighbours = neighbours;
  }

  /**
   * Builds the graph of the edges. The edges u,v and v,u are the same.
   *
   * @param edges the edges of {@link EdgeLoader#loadBothEnds}
   * @param duplicates how to treat repeated edges
   * @return the graph
   * @throws IllegalArgumentException if the edges come from another load, on several ranks; or an
   *     edge is repeated and {@code duplicates} is {@link EdgeLoader.DuplicatePolicy#REFUSE}
   * @throws IllegalStateException if there are too many edges for Java's arrays
   */
  public static UndirectedGraph of(Edges edges, EdgeLoader.DuplicatePolicy duplicates) {
    requireNonNull(edges, "edges");
    requireNonNull(duplicates, "duplicates");
    if (!edges.hasBothEnds()) {
      throw new IllegalArgumentException(
          "edges must come from loadBothEnds, since an edge belongs to both its vertices, got"
              + " edges from load");
    }
    IdMap all = IdMaps.union(edges.firstIds(), edges.secondIds());
    boolean[] owned = owned(edges, all);
    return new UndirectedGraph(
        all,
        owned,
        CsrMatrix.of(
            all.size(),
            all.size(),
            visitor ->
                edges.forEach(all, all, (u, v, weight) -> both(owned, u, v, weight, visitor)),
            duplicates,
            (row, column) -> BipartiteGraph.repeated(all.name(row), all.name(column))));
  }

  private static boolean[] owned(Edges edges, IdMap all) {
    boolean[] owned = new boolean[all.size()];
    for (int i = 0; i < owned.length; i++) {
      long hash = all.hash(i, edges.rules().hash());
      owned[i] = edges.grid().owner(hash, hash) == edges.rank();
    }
    return owned;
  }

  private static void both(
      boolean[] owned, int u, int v, double weight, Edges.EdgeVisitor visitor) {
    if (owned[u]) {
      visitor.edge(u, v, weight);
    }
    if (u != v && owned[v]) {
      visitor.edge(v, u, weight);
    }
  }

  /**
   * Returns the vertices of this rank and their neighbours.
   *
   * @return their ids, by local number
   */
  public IdMap vertices() {
    return vertices;
  }

  /**
   * Returns whether this rank owns a vertex, and so has all its edges.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return true if it does
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public boolean isOwned(int vertex) {
    return owned[vertex];
  }

  /**
   * Returns the edges: row u holds the neighbours of u, and the weights.
   *
   * @return the edges, in both directions where this rank owns both ends
   */
  public CsrMatrix neighbours() {
    return neighbours;
  }

  /**
   * Returns the degree of a vertex; a loop counts twice, since both its ends are there.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return the number of edge ends; 0 if this rank does not own the vertex
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public int degree(int vertex) {
    int ends = neighbours.end(vertex) - neighbours.start(vertex);
    for (int i = neighbours.start(vertex); i < neighbours.end(vertex); i++) {
      ends += neighbours.column(i) == vertex ? 1 : 0;
    }
    return ends;
  }

  /**
   * Returns the number of edges at the vertices of this rank, each counted once.
   *
   * @return the number of edges; with several ranks, each rank that owns an end counts the edge
   */
  public long edgeCount() {
    long[] count = new long[1];
    traverse((u, v, weight) -> count[0]++);
    return count[0];
  }

  /**
   * Visits all edges at the vertices of this rank, each once.
   *
   * @param visitor receives the local numbers, the smaller one first if this rank owns both, and
   *     the weight of each edge
   */
  public void traverse(Edges.EdgeVisitor visitor) {
    requireNonNull(visitor, "visitor");
    neighbours.forEach(
        (u, v, weight) -> {
          if (u <= v || !owned[v]) {
            visitor.edge(u, v, weight);
          }
        });
  }
}
