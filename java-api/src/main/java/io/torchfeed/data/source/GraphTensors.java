// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.LogFilter;
import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.graph.CsrMatrix;
import io.torchfeed.graph.DenseRows;
import io.torchfeed.graph.IdMap;
import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.LayoutOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Conversions of graphs, matrices and rows of text files to tensors.
 *
 * <p>Data on the Java heap is copied once, straight into the memory of the tensor, without an
 * intermediate array; a tensor created from another of these tensors shares its memory. The tensors
 * are therefore independent of the graph: they stay valid when the graph is collected, belong to
 * the caller, who closes them, and may be written. Thread-safe.
 */
public final class GraphTensors {
  private GraphTensors() {}

  /**
   * Returns a sparse matrix in compressed rows.
   *
   * @param rows the matrix; for a graph, its edges or their reverse
   * @return float64 [rows, columns] of the layout {@code SparseCsr}, with int32 indices: 12 bytes
   *     per entry and 4 per row
   * @throws IllegalArgumentException if a cell occurs more than once
   */
  public static Tensor csr(CsrMatrix rows) {
    requireNonNull(rows, "rows");
    requireDistinct(rows);
    return NativeHandle.outsideOfScopes(() -> compressed(rows));
  }

  /**
   * Returns a sparse matrix as coordinates.
   *
   * @param rows the matrix; for a graph, its edges or their reverse
   * @return float64 [rows, columns] of the layout {@code Sparse}, coalesced, with int64 indices: 24
   *     bytes per entry
   * @throws IllegalArgumentException if a cell occurs more than once
   */
  public static Tensor coo(CsrMatrix rows) {
    requireNonNull(rows, "rows");
    requireDistinct(rows);
    return NativeHandle.outsideOfScopes(() -> compressed(rows).to_sparse());
  }

  /**
   * Returns dense rows.
   *
   * @param rows the rows
   * @return float64 [rows, width]
   */
  public static Tensor dense(DenseRows rows) {
    requireNonNull(rows, "rows");
    return NativeHandle.outsideOfScopes(
        () -> {
          Tensor values = empty(ScalarType.Double, rows.rows(), rows.width());
          copy(rows.valuesView(), values);
          return values;
        });
  }

  /**
   * Returns numeric ids.
   *
   * @param ids the ids
   * @return int64 [size], by local number; ids from 2<sup>63</sup> on are negative
   * @throws IllegalStateException if the ids are text
   */
  public static Tensor ids(IdMap ids) {
    requireNonNull(ids, "ids");
    return NativeHandle.outsideOfScopes(
        () -> {
          Tensor tensor = empty(ScalarType.Long, ids.size());
          LongPointer to = new LongPointer(tensor.data_ptr());
          for (int i = 0; i < ids.size(); i++) {
            to.put(i, ids.id(i));
          }
          return tensor;
        });
  }

  private static void requireDistinct(CsrMatrix rows) {
    IntBuffer columns = rows.columnIndicesView();
    for (int row = 0; row < rows.rows(); row++) {
      for (int at = rows.start(row) + 1; at < rows.end(row); at++) {
        if (columns.get(at - 1) == columns.get(at)) {
          throw new IllegalArgumentException(
              "a sparse tensor must have each cell at most once, got several at row %d, column %d;"
                      .formatted(row, columns.get(at))
                  + " merge them with a rule for duplicates other than KEEP");
        }
      }
    }
  }

  private static Tensor compressed(CsrMatrix rows) {
    Tensor starts = empty(ScalarType.Int, rows.rows() + 1L);
    copy(rows.rowStartsView(), starts);
    Tensor columns = empty(ScalarType.Int, rows.entries());
    copy(rows.columnIndicesView(), columns);
    Tensor values = empty(ScalarType.Double, rows.entries());
    copy(rows.valuesView(), values);
    try (LogFilter announcements = LogFilter.create()) { // sparse tensors are in beta
      return torch.sparse_csr_tensor(
          starts,
          columns,
          values,
          new long[] {rows.rows(), rows.columns()},
          new TensorOptions(ScalarType.Double).layout(new LayoutOptional(Layout.SparseCsr)));
    }
  }

  private static Tensor empty(ScalarType type, long... sizes) {
    return torch.empty(sizes, new TensorOptions(type), new MemoryFormatOptional());
  }

  private static void copy(IntBuffer from, Tensor to) {
    IntBuffer left = from.duplicate();
    NativeBytes.forEach(
        to.data_ptr(),
        to.nbytes(),
        piece -> {
          IntBuffer into = piece.asIntBuffer();
          into.put(left.slice(left.position(), into.remaining()));
          left.position(left.position() + into.position());
          piece.position(into.position() * Integer.BYTES);
        });
  }

  private static void copy(DoubleBuffer from, Tensor to) {
    DoubleBuffer left = from.duplicate();
    NativeBytes.forEach(
        to.data_ptr(),
        to.nbytes(),
        piece -> {
          DoubleBuffer into = piece.asDoubleBuffer();
          into.put(left.slice(left.position(), into.remaining()));
          left.position(left.position() + into.position());
          piece.position(into.position() * Double.BYTES);
        });
  }
}
