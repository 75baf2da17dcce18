// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * Graphs and matrices in files, in one format, version 1, little-endian:
 *
 * <ul>
 *   <li>8 bytes: {@code TFGRAPH1} in ASCII;
 *   <li>int32: the kind, 1 bigraph, 2 digraph, 3 sparse matrix;
 *   <li>the ids of the rows and, but for a digraph, those of the columns: int32 the kind, 0 numbers
 *       or 1 texts, int32 how many; numbers: int64 each, ascending as unsigned ones; texts: int32
 *       each, where it ends in the text that follows, and the text in UTF-8, ascending;
 *   <li>the cells: int32 rows, columns and entries; int32 where each row begins, and the number of
 *       entries; int32 the column of each entry; float64 the value of each entry;
 *   <li>int32: the CRC-32C of all before.
 * </ul>
 *
 * <p>A file appears under its name only when it is whole.
 */
public final class GraphFile {
  private static final byte[] MAGIC = "TFGRAPH1".getBytes(US_ASCII);
  private static final int BIGRAPH = 1;
  private static final int DIGRAPH = 2;
  private static final int MATRIX = 3;

  private GraphFile() {}

  /**
   * Writes a graph. A file of that name is replaced.
   *
   * @param graph the graph
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written
   */
  public static void save(Bigraph graph, Path path) {
    write(path, BIGRAPH, graph.edges(), graph.left(), graph.right());
  }

  /**
   * Writes a graph. A file of that name is replaced.
   *
   * @param graph the graph
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written
   */
  public static void save(Digraph graph, Path path) {
    write(path, DIGRAPH, graph.edges(), graph.vertices());
  }

  /**
   * Writes a matrix. A file of that name is replaced.
   *
   * @param matrix the matrix
   * @param path the file
   * @throws UncheckedIOException if the file cannot be written
   */
  public static void save(SparseMatrix matrix, Path path) {
    write(path, MATRIX, matrix.cells(), matrix.rowIds(), matrix.columnIds());
  }

  /**
   * Reads a graph.
   *
   * @param path the file
   * @return the graph
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it holds something else or is damaged
   */
  public static Bigraph loadBigraph(Path path) {
    return read(
        path,
        BIGRAPH,
        in -> {
          IdMap left = in.ids();
          IdMap right = in.ids();
          return new Bigraph(left, right, in.rows(left.size(), right.size()));
        });
  }

  /**
   * Reads a graph.
   *
   * @param path the file
   * @return the graph
   * @throws UncheckedIOException if the file cannot be read
   * @throws IllegalArgumentException if it holds something else or is damaged
   */
  public static Digraph loadDigraph(Path path) {
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
   * @throws IllegalArgumentException if it holds something else or is damaged
   */
  public static SparseMatrix loadMatrix(Path path) {
    return read(
        path,
        MATRIX,
        in -> {
          IdMap rows = in.ids();
          IdMap columns = in.ids();
          return new SparseMatrix(rows, columns, in.rows(rows.size(), columns.size()));
        });
  }

  private static void write(Path path, int kind, CompressedRows cells, IdMap... ids) {
    Path part = path.resolveSibling(path.getFileName() + ".part");
    try {
      try (FileChannel channel =
          FileChannel.open(
              part,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE)) {
        GraphWriter out = new GraphWriter(channel);
        out.bytes(MAGIC, MAGIC.length);
        out.number(kind);
        for (IdMap map : ids) {
          out.ids(map);
        }
        out.rows(cells);
        out.end();
        channel.force(true);
      }
      Files.move(part, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      part.toFile().delete();
      throw new UncheckedIOException("cannot write " + path + ": " + e.getMessage(), e);
    }
  }

  @FunctionalInterface
  private interface Content<T> {
    T read(GraphReader in) throws IOException;
  }

  private static <T> T read(Path path, int kind, Content<T> content) {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      GraphReader in = new GraphReader(path, channel);
      in.require(Arrays.equals(in.bytes(MAGIC.length), MAGIC), "TFGRAPH1 at its start");
      int found = in.number();
      in.require(found == kind, "the kind %d, got %d".formatted(kind, found));
      T read = content.read(in);
      in.end();
      return read;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + path + ": " + e.getMessage(), e);
    }
  }
}
