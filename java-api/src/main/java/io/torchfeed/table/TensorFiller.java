// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.List;
import java.util.function.IntFunction;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Fills a tensor with the rows of a table. */
final class TensorFiller {
  private static final int MAX_ROWS = 1 << 12;
  private static final int MAX_ELEMENTS = 1 << 20;
  private static final int REFUSED = -1;

  private final RowSpec row;
  private final List<FittedCell> cells;
  private final List<CellStore> stores;
  private final IntFunction<String> place;
  private final int size;
  private final int[][] indices;

  /**
   * Prepares the indices of categories.
   *
   * @param cells the columns of the tensor
   * @param stores their values
   */
  TensorFiller(
      RowSpec row,
      List<FittedCell> cells,
      List<CellStore> stores,
      IntFunction<String> place,
      int size) {
    this.row = row;
    this.cells = cells;
    this.stores = stores;
    this.place = place;
    this.size = size;
    indices = new int[cells.size()][];
    for (int i = 0; i < indices.length; i++) {
      if (stores.get(i) instanceof CellStore.OfCategory store) {
        indices[i] = indices((FittedCell.OfCategory) cells.get(i), store.keys());
      }
    }
  }

  private static int[] indices(FittedCell.OfCategory cell, List<Object> keys) {
    int[] indices = new int[keys.size()];
    for (int code = 0; code < indices.length; code++) {
      indices[code] = cell.indexOrElse(keys.get(code), REFUSED);
    }
    return indices;
  }

  static TensorDataset dataset(List<TensorFiller> fillers) {
    try (PointerScope scope = new PointerScope()) {
      Tensor[] tensors = fillers.stream().map(TensorFiller::tensor).toArray(Tensor[]::new);
      return TensorDataset.of(tensors)
          .withNames(fillers.stream().map(each -> each.row.name()).toArray(String[]::new));
    }
  }

  private Tensor tensor() {
    long[] sizes = new long[1 + row.shape().size()];
    sizes[0] = size;
    for (int i = 1; i < sizes.length; i++) {
      sizes[i] = row.shape().get(i - 1);
    }
    Tensor tensor =
        torch.empty(sizes, new TensorOptions(row.dtype().scalarType()), new MemoryFormatOptional());
    int width = (int) row.elements();
    if (row.dtype() == DType.FLOAT32) {
      floats(tensor.data_ptr_float(), width);
    } else {
      longs(tensor.data_ptr_long(), width);
    }
    return tensor;
  }

  private int rowsAtOnce(int width) {
    return Math.max(1, Math.min(Math.min(size, MAX_ROWS), MAX_ELEMENTS / width));
  }

  private void floats(FloatPointer into, int width) {
    int rows = rowsAtOnce(width);
    float[] block = new float[rows * width];
    for (int from = 0; from < size; from += rows) {
      int count = Math.min(rows, size - from);
      int at = 0;
      for (int i = 0; i < cells.size(); i++) {
        floats(i, from, count, block, at, width);
        at += cells.get(i).width();
      }
      into.position((long) from * width).put(block, 0, count * width);
    }
  }

  private void floats(int cell, int from, int count, float[] block, int at, int width) {
    if (stores.get(cell) instanceof CellStore.OfNumber store) {
      FittedCell.OfNumber fitted = (FittedCell.OfNumber) cells.get(cell);
      for (int i = 0; i < count; i++) {
        double number = store.get(from + i);
        if (!fitted.put(number, block, i * width + at)) {
          throw fitted.tooLarge(number).at(place.apply(from + i));
        }
      }
    } else {
      FittedCell.OfCategory fitted = (FittedCell.OfCategory) cells.get(cell);
      for (int i = 0; i < count; i++) {
        fitted.put(index(cell, from + i), block, i * width + at);
      }
    }
  }

  private void longs(LongPointer into, int width) {
    int rows = rowsAtOnce(width);
    long[] block = new long[rows * width];
    for (int from = 0; from < size; from += rows) {
      int count = Math.min(rows, size - from);
      for (int i = 0; i < count * width; i++) {
        block[i] = index(i % width, from + i / width);
      }
      into.position((long) from * width).put(block, 0, count * width);
    }
  }

  private int index(int cell, int row) {
    CellStore.OfCategory store = (CellStore.OfCategory) stores.get(cell);
    FittedCell.OfCategory fitted = (FittedCell.OfCategory) cells.get(cell);
    int code = store.get(row);
    int index = code < 0 ? fitted.index(null) : indices[cell][code];
    if (index == REFUSED) {
      throw fitted.unknown(store.keys().get(code)).at(place.apply(row));
    }
    return index;
  }
}
