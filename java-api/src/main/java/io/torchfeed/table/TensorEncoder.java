// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes rows of a table as rows of one tensor, for tables that are not in memory.
 *
 * <p>Immutable and thread-safe.
 */
public final class TensorEncoder {
  private final TableColumns columns;
  private final FittedCell[] cells;
  private final int[] places;
  private final int names;
  private final RowSpec row;

  TensorEncoder(TableColumns columns, List<FittedCell> cells) {
    this.columns = columns;
    this.cells = cells.toArray(FittedCell[]::new);
    places = columns.places();
    names = columns.names().size();
    TableTensor tensor = columns.tensors().get(0);
    int width = cells.stream().mapToInt(FittedCell::width).sum();
    row =
        switch (tensor.form()) {
          case FEATURES -> RowSpec.of(tensor.name(), DType.FLOAT32, (long) width);
          case NUMBER -> RowSpec.of(tensor.name(), DType.FLOAT32);
          case CATEGORIES ->
              cells.size() == 1
                  ? RowSpec.of(tensor.name(), DType.INT64)
                  : RowSpec.of(tensor.name(), DType.INT64, (long) cells.size());
        };
  }

  /**
   * Returns the columns of the table that the tensor needs.
   *
   * @return their names, each once, as an unmodifiable list
   */
  public List<String> names() {
    return columns.names();
  }

  /**
   * Returns the tensor's name, and the dtype and shape of a row: float32 or int64.
   *
   * @return the row
   */
  public RowSpec row() {
    return row;
  }

  /**
   * Writes a row of a float32 tensor.
   *
   * @param values the values in the order of {@link #names}, as in {@link TableLearner#add}
   * @param into receives all elements of the row, from 0 on
   * @throws TableValueException if a value does not fit its column
   * @throws IllegalArgumentException if there are more or fewer values, or the tensor is int64
   */
  public void encode(@Nullable Object[] values, float[] into) {
    requireNonNull(values, "values");
    requireNonNull(into, "into");
    require(DType.FLOAT32, values);
    int at = 0;
    for (int i = 0; i < cells.length; i++) {
      cells[i].put(values[places[i]], into, at);
      at += cells[i].width();
    }
  }

  /**
   * Writes a row of an int64 tensor.
   *
   * @param values the values in the order of {@link #names}, as in {@link TableLearner#add}
   * @param into receives all elements of the row, from 0 on
   * @throws TableValueException if a value does not fit its column
   * @throws IllegalArgumentException if there are more or fewer values, or the tensor is float32
   */
  public void encode(@Nullable Object[] values, long[] into) {
    requireNonNull(values, "values");
    requireNonNull(into, "into");
    require(DType.INT64, values);
    for (int i = 0; i < cells.length; i++) {
      into[i] = ((FittedCell.OfCategory) cells[i]).indexOf(values[places[i]]);
    }
  }

  private void require(DType dtype, @Nullable Object... values) {
    if (row.dtype() != dtype) {
      throw new IllegalArgumentException("the elements must be of %s".formatted(row));
    }
    if (values.length != names) {
      columns.requireValues(values);
    }
  }
}
