// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.partition.CompressedRows;
import io.torchfeed.partition.DenseRows;
import io.torchfeed.partition.IdMap;
import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.LayoutOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Graphs, matrices and rows of text files as tensors.
 *
 * <p>What is on the Java heap is copied once, straight into the memory of the tensor, without an
 * array between; a tensor made of another of these shares its memory. So a tensor lives on its own:
 * it stays valid when the graph is forgotten, belongs to the caller, who closes it, and may be
 * written. Thread-safe.
 */
public final class GraphTensors {
  /** Of a native buffer, whose length in bytes is an int. */
  private static final int MOST_AT_ONCE = 1 << 24;

  private GraphTensors() {}

  /**
   * A sparse matrix in compressed rows.
   *
   * @param rows the matrix; of a graph its edges or their reverse
   * @return float64 [rows, columns] of the layout {@code SparseCsr}, with int32 indices: 12 bytes
   *     an entry and 4 a row
   * @throws IllegalArgumentException if a cell is there several times
   */
  public static Tensor csr(CompressedRows rows) {
    requireDistinct(rows);
    return NativeHandle.outsideOfScopes(() -> compressed(rows));
  }

  /**
   * A sparse matrix as coordinates.
   *
   * @param rows the matrix; of a graph its edges or their reverse
   * @return float64 [rows, columns] of the layout {@code Sparse}, coalesced, with int64 indices: 24
   *     bytes an entry
   * @throws IllegalArgumentException if a cell is there several times
   */
  public static Tensor coo(CompressedRows rows) {
    requireDistinct(rows);
    return NativeHandle.outsideOfScopes(() -> compressed(rows).to_sparse());
  }

  /**
   * Dense rows.
   *
   * @param rows the rows
   * @return float64 [rows, width]
   */
  public static Tensor dense(DenseRows rows) {
    return NativeHandle.outsideOfScopes(
        () -> {
          Tensor values = empty(ScalarType.Double, rows.rows(), rows.width());
          copy(rows.valuesView(), values);
          return values;
        });
  }

  /**
   * Ids that are numbers.
   *
   * @param ids the ids
   * @return int64 [size], by local number; ids from 2<sup>63</sup> on are negative
   * @throws IllegalStateException if the ids are texts
   */
  public static Tensor ids(IdMap ids) {
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

  private static void requireDistinct(CompressedRows rows) {
    IntBuffer columns = rows.columnIndicesView();
    for (int row = 0; row < rows.rows(); row++) {
      for (int at = rows.start(row) + 1; at < rows.end(row); at++) {
        if (columns.get(at - 1) == columns.get(at)) {
          throw new IllegalArgumentException(
              "a sparse tensor must have a cell once, got several at row %d, column %d;"
                      .formatted(row, columns.get(at))
                  + " unite them with another rule for duplicates than KEEP");
        }
      }
    }
  }

  private static Tensor compressed(CompressedRows rows) {
    Tensor starts = empty(ScalarType.Int, rows.rows() + 1L);
    copy(rows.rowStartsView(), starts);
    Tensor columns = empty(ScalarType.Int, rows.entries());
    copy(rows.columnIndicesView(), columns);
    Tensor values = empty(ScalarType.Double, rows.entries());
    copy(rows.valuesView(), values);
    return torch.sparse_csr_tensor(
        starts,
        columns,
        values,
        new long[] {rows.rows(), rows.columns()},
        new TensorOptions(ScalarType.Double).layout(new LayoutOptional(Layout.SparseCsr)));
  }

  private static Tensor empty(ScalarType type, long... sizes) {
    return torch.empty(sizes, new TensorOptions(type), new MemoryFormatOptional());
  }

  private static void copy(IntBuffer from, Tensor to) {
    IntPointer memory = new IntPointer(to.data_ptr());
    for (int at = 0, count; at < from.limit(); at += count) {
      count = Math.min(MOST_AT_ONCE, from.limit() - at);
      memory.getPointer(at).capacity(count).asBuffer().put(from.slice(at, count));
    }
  }

  private static void copy(DoubleBuffer from, Tensor to) {
    DoublePointer memory = new DoublePointer(to.data_ptr());
    for (int at = 0, count; at < from.limit(); at += count) {
      count = Math.min(MOST_AT_ONCE, from.limit() - at);
      memory.getPointer(at).capacity(count).asBuffer().put(from.slice(at, count));
    }
  }
}
