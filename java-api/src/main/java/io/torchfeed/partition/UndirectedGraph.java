// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

/**
 * An undirected graph: each edge is stored in both directions, a loop once. One rank's part: the
 * vertices that it owns with all their edges; other vertices are there as neighbours only, with an
 * empty row. Immutable.
 */
public final class UndirectedGraph {
  private final IdMap vertices;
  private final boolean[] owned;
  private final CompressedRows neighbours;

  UndirectedGraph(IdMap vertices, boolean[] owned, CompressedRows neighbours) {
    this.vertices = vertices;
    this.owned = owned;
    this.neighbours = neighbours;
  }

  /**
   * The graph of the edges. The edges u,v and v,u are the same.
   *
   * @param edges the edges of {@link EdgeLoader#loadBothEnds}
   * @param duplicates what happens to repeated edges
   * @return the graph
   * @throws IllegalArgumentException if the edges are of another load, on several ranks; or an edge
   *     is repeated and repeated ones are refused
   * @throws IllegalStateException if the edges are too many for Java's arrays
   */
  public static UndirectedGraph of(Edges edges, Duplicates duplicates) {
    requireNonNull(duplicates, "duplicates");
    if (!edges.hasBothEnds()) {
      throw new IllegalArgumentException(
          "edges must be those of loadBothEnds, since an edge belongs to both its vertices, got"
              + " those of load");
    }
    IdMap all = IdMaps.union(edges.firstIds(), edges.secondIds());
    boolean[] owned = owned(edges, all);
    return new UndirectedGraph(
        all,
        owned,
        CompressedRows.of(
            all.size(),
            all.size(),
            visitor ->
                edges.forEach(all, all, (u, v, weight) -> both(owned, u, v, weight, visitor)),
            duplicates,
            (row, column) -> Bigraph.repeated(all.name(row), all.name(column))));
  }

  private static boolean[] owned(Edges edges, IdMap all) {
    boolean[] owned = new boolean[all.size()];
    for (int i = 0; i < owned.length; i++) {
      long hash = all.hash(i, edges.rules().hash());
      owned[i] = edges.grid().owner(hash, hash) == edges.rank();
    }
    return owned;
  }

  private static void both(boolean[] owned, int u, int v, double weight, EdgeVisitor visitor) {
    if (owned[u]) {
      visitor.edge(u, v, weight);
    }
    if (u != v && owned[v]) {
      visitor.edge(v, u, weight);
    }
  }

  /**
   * The vertices of this rank and their neighbours.
   *
   * @return their ids, by local number
   */
  public IdMap vertices() {
    return vertices;
  }

  /**
   * Whether this rank owns a vertex, and so has all its edges.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return whether it does
   * @throws IndexOutOfBoundsException if there is no such vertex
   */
  public boolean isOwned(int vertex) {
    return owned[vertex];
  }

  /**
   * The edges: row u has the neighbours of u, and the weights.
   *
   * @return the edges, in both directions where this rank owns both ends
   */
  public CompressedRows neighbours() {
    return neighbours;
  }

  /**
   * How many edges a vertex has; a loop counts twice, as it has two ends there.
   *
   * @param vertex its local number, in [0, number of vertices - 1]
   * @return the number of ends of edges; 0 if this rank does not own it
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
   * How many edges there are at the vertices of this rank, each counted once.
   *
   * @return the number of edges; on several ranks an edge counts with each rank that owns an end
   */
  public long edgeCount() {
    long[] count = new long[1];
    traverse((u, v, weight) -> count[0]++);
    return count[0];
  }

  /**
   * Visits all edges at the vertices of this rank, each once.
   *
   * @param visitor gets the local numbers, the smaller one first if this rank owns both, and the
   *     weight of each
   */
  public void traverse(EdgeVisitor visitor) {
    neighbours.forEach(
        (u, v, weight) -> {
          if (u <= v || !owned[v]) {
            visitor.edge(u, v, weight);
          }
        });
  }
}
