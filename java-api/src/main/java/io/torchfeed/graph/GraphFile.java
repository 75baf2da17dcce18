// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.RegularFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;

/**
 * Files that hold graphs and matrices, in one format, version 1, little-endian:
 *
 * <ul>
 *   <li>8 bytes: {@code TFGRAPH1} in ASCII;
 *   <li>int32: the kind: 1 bigraph, 2 digraph, 3 sparse matrix, 4 undirected graph, 5 dense rows;
 *   <li>the ids of the rows and, for a bigraph or a matrix, the ids of the columns: int32 the kind,
 *       0 numbers or 1 texts; int32 the number of ids; for numbers: int64 each, in ascending
 *       unsigned order; for texts: int32 each, the offset of its end in the text that follows, then
 *       the text in UTF-8, ascending; for dense rows: texts in the order of the rows;
 *   <li>for an undirected graph: a byte for each vertex, 1 if the rank owns it, else 0;
 *   <li>the cells: int32 the number of rows, of columns and of entries; int32 the start of each
 *       row, followed by the number of entries; int32 the column of each entry; float64 the value
 *       of each entry; for dense rows: int32 the width; float64 each value, row by row;
 *   <li>int32: the CRC-32C of all preceding bytes.
 * </ul>
 *
 * <p>A file appears under its name only once it is complete, also if several threads or processes
 * save to one path: the last that ends wins. A replaced file keeps its permissions; other hard
 * links to it keep the old content. A symbolic link to a file is followed; anything but a regular
 * file, such as a folder, a named pipe or a device, is refused and stays. A process that is killed
 * can leave a file {@code NAME.partial-...}, which can be deleted. Loading validates the content
 * even if the checksum is correct: ids ascend and are UTF-8, row starts ascend, and columns exist
 * and ascend in each row.
 */
public final class GraphFile {
  private static final byte[] MAGIC = "TFGRAPH1".getBytes(US_ASCII);
  private static final int BIGRAPH = 1;
  private static final int DIGRAPH = 2;
  private static final int MATRIX = 3;
  private static final int UNDIRECTED = 4;
  private static final int DENSE = 5;

  private GraphFile() {}

  /**
   * Writes a graph, replacing an existing file.
   *
   * @param graph the graph
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written, or exists but is not regular
   */
  public static void save(BipartiteGraph graph, Path path) {
    requireNonNull(graph, "graph");
    requireNonNull(path, "path");
    write(
        path,
        BIGRAPH,
        out -> {
          out.ids(graph.left());
          out.ids(graph.right());
          out.rows(graph.edges());
        });
  }

  /**
   * Writes a graph, replacing an existing file.
   *
   * @param graph the graph
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written, or exists but is not regular
   */
  public static void save(Digraph graph, Path path) {
    requireNonNull(graph, "graph");
    requireNonNull(path, "path");
    write(
        path,
        DIGRAPH,
        out -> {
          out.ids(graph.vertices());
          out.rows(graph.edges());
        });
  }

  /**
   * Writes a matrix, replacing an existing file.
   *
   * @param matrix the matrix
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written, or exists but is not regular
   */
  public static void save(SparseMatrix matrix, Path path) {
    requireNonNull(matrix, "matrix");
    requireNonNull(path, "path");
    write(
        path,
        MATRIX,
        out -> {
          out.ids(matrix.rowIds());
          out.ids(matrix.columnIds());
          out.rows(matrix.cells());
        });
  }

  /**
   * Writes a graph, replacing an existing file.
   *
   * @param graph the graph
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written, or exists but is not regular
   */
  public static void save(UndirectedGraph graph, Path path) {
    requireNonNull(graph, "graph");
    requireNonNull(path, "path");
    write(
        path,
        UNDIRECTED,
        out -> {
          out.ids(graph.vertices());
          byte[] owned = new byte[graph.vertices().size()];
          for (int vertex = 0; vertex < owned.length; vertex++) {
            owned[vertex] = (byte) (graph.isOwned(vertex) ? 1 : 0);
          }
          out.bytes(owned, owned.length);
          out.rows(graph.neighbours());
        });
  }

  /**
   * Writes dense rows, but not the lines that were skipped, replacing an existing file.
   *
   * @param rows the rows, whose ids have fewer than 2<sup>31</sup> - 9 bytes in total
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written, or exists but is not regular
   */
  public static void save(DenseRows rows, Path path) {
    requireNonNull(path, "path");
    requireNonNull(rows, "rows");
    write(
        path,
        DENSE,
        out -> {
          out.texts(rows.ids());
          out.number(rows.width());
          out.values(rows.valuesView());
        });
  }

  /**
   * Reads a graph.
   *
   * @param path the file
   * @return the graph
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it is not a regular file, holds something else, or is
   *     damaged
   */
  public static BipartiteGraph loadBipartiteGraph(Path path) {
    requireNonNull(path, "path");
    return read(
        path,
        BIGRAPH,
        in -> {
          IdMap left = in.ids();
          IdMap right = in.ids();
          return new BipartiteGraph(left, right, in.rows(left.size(), right.size()));
        });
  }

  /**
   * Reads a graph.
   *
   * @param path the file
   * @return the graph
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it is not a regular file, holds something else, or is
   *     damaged
   */
  public static Digraph loadDigraph(Path path) {
    requireNonNull(path, "path");
    return read(
        path,
        DIGRAPH,
        in -> {
          IdMap vertices = in.ids();
          return new Digraph(vertices, in.rows(vertices.size(), vertices.size()));
        });
  }

  /**
   * Reads a matrix.
   *
   * @param path the file
   * @return the matrix
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it is not a regular file, holds something else, or is
   *     damaged
   */
  public static SparseMatrix loadMatrix(Path path) {
    requireNonNull(path, "path");
    return read(
        path,
        MATRIX,
        in -> {
          IdMap rows = in.ids();
          IdMap columns = in.ids();
          return new SparseMatrix(rows, columns, in.rows(rows.size(), columns.size()));
        });
  }

  /**
   * Reads a graph.
   *
   * @param path the file
   * @return the graph
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it is not a regular file, holds something else, or is
   *     damaged
   */
  public static UndirectedGraph loadUndirected(Path path) {
    requireNonNull(path, "path");
    return read(
        path,
        UNDIRECTED,
        in -> {
          IdMap vertices = in.ids();
          boolean[] owned = new boolean[vertices.size()];
          byte[] bytes = in.bytes(owned.length);
          for (int vertex = 0; vertex < owned.length; vertex++) {
            in.require((bytes[vertex] & ~1) == 0, "0 or 1 for each vertex, got another number");
            owned[vertex] = bytes[vertex] == 1;
          }
          CsrMatrix neighbours = in.rows(owned.length, owned.length);
          requireOwnRows(in, owned, neighbours);
          return new UndirectedGraph(vertices, owned, neighbours);
        });
  }

  private static void requireOwnRows(GraphReader in, boolean[] owned, CsrMatrix neighbours) {
    for (int vertex = 0; vertex < owned.length; vertex++) {
      if (!owned[vertex] && neighbours.start(vertex) < neighbours.end(vertex)) {
        throw in.refused(
            "no edges at vertices that the rank does not own, got one at %d".formatted(vertex));
      }
    }
  }

  /**
   * Reads dense rows.
   *
   * @param path the file
   * @return the rows, with no skipped lines
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it is not a regular file, holds something else, or is
   *     damaged
   */
  public static DenseRows loadDense(Path path) {
    requireNonNull(path, "path");
    return read(
        path,
        DENSE,
        in -> {
          List<String> ids = in.texts();
          int width = in.number();
          in.require(width >= 0, "rows of at least 0 values");
          double[] values = in.values((long) ids.size() * width);
          return new DenseRows(ids, width, values, new Edges.LineErrors(0, List.of()));
        });
  }

  @FunctionalInterface
  private interface Parts {
    void write(GraphWriter out) throws IOException;
  }

  private static void write(Path path, int kind, Parts parts) {
    try {
      FileReplacement.write(
          path,
          channel -> {
            GraphWriter out = new GraphWriter(channel);
            out.bytes(MAGIC, MAGIC.length);
            out.number(kind);
            parts.write(out);
            out.end();
          });
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write %s: %s".formatted(path, Failures.reason(e)), e);
    }
  }

  @FunctionalInterface
  private interface Content<T> {
    T read(GraphReader in) throws IOException;
  }

  private static <T> T read(Path path, int kind, Content<T> content) {
    RegularFile.require(path);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      GraphReader in = new GraphReader(path, channel);
      in.require(Arrays.equals(in.bytes(MAGIC.length), MAGIC), "TFGRAPH1 at its start");
      int found = in.number();
      in.require(found == kind, "the kind %d, got %d".formatted(kind, found));
      T read = content.read(in);
      in.end();
      return read;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read %s: %s".formatted(path, Failures.reason(e)), e);
    }
  }
}
