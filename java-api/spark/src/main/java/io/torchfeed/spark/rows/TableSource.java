// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.TableValueException;
import io.torchfeed.table.TensorEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** The values of a DataFrame's row as a tensor of a table. */
final class TableSource implements ValueSource {
  private static final long serialVersionUID = 1L;

  private final FittedColumns fitted;
  private final TableValues values;

  private TableSource(FittedColumns fitted, TableValues values) {
    this.fitted = fitted;
    this.values = values;
  }

  /**
   * Checks the columns of a tensor against a schema.
   *
   * @param fitted of one tensor
   */
  static TableSource of(StructType schema, FittedColumns fitted) {
    return new TableSource(fitted, TableValues.of(schema, fitted.columns().names()));
  }

  @Override
  public Reader reader() {
    return new Encoding(fitted.encoder(fitted.columns().tensors().get(0).name()), values);
  }

  /** The memory of a row. */
  private static final class Encoding implements Reader {
    private final TensorEncoder encoder;
    private final TableValues values;
    private final @Nullable Object[] cells;
    private final float[] floats;
    private final long[] longs;

    Encoding(TensorEncoder encoder, TableValues values) {
      this.encoder = encoder;
      this.values = values;
      cells = new @Nullable Object[values.size()];
      RowSpec row = encoder.row();
      boolean isFloat = row.dtype() == DType.FLOAT32;
      floats = new float[isFloat ? (int) row.elements() : 0];
      longs = new long[isFloat ? 0 : (int) row.elements()];
    }

    @Override
    public @Nullable String read(InternalRow row, ElementWriter into) {
      values.read(row, cells);
      try {
        if (floats.length > 0) {
          encoder.encode(cells, floats);
          into.put(floats);
        } else {
          encoder.encode(cells, longs);
          for (int i = 0; i < longs.length; i++) {
            into.put(i, longs[i]);
          }
        }
        return null;
      } catch (TableValueException e) {
        return e.getMessage();
      }
    }
  }
}
