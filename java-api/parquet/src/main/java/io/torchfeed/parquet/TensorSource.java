// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.table.TableValueException;
import io.torchfeed.table.TensorEncoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A tensor of a table: numbers and categories, encoded by learned columns.
 *
 * @param json the learned columns as text, for the identity of stored rows
 */
record TensorSource(TensorEncoder encoder, String json) implements ColumnSource {
  @Override
  public RowSpec row() {
    return encoder.row();
  }

  @Override
  public String describe() {
    return encoder.row() + " " + json;
  }

  @Override
  public List<String> paths() {
    return encoder.names();
  }

  @Override
  public void require(String file, List<Leaf> leaves) {
    requireCells(file, encoder.names(), leaves);
  }

  /** Requires leaves with one value in a row. */
  static void requireCells(String file, List<String> names, List<Leaf> leaves) {
    for (int i = 0; i < names.size(); i++) {
      if (leaves.get(i).lists() > 0) {
        throw new ParquetException(
            Problem.SCHEMA,
            "%s: the column %s of a table must have one value in a row, got %s"
                .formatted(file, names.get(i), leaves.get(i).type()));
      }
    }
  }

  @Override
  public Filler filler() {
    return new Encoding();
  }

  private final class Encoding implements Filler {
    private final float[] floats = new float[(int) row().elements()];
    private final long[] longs = new long[(int) row().elements()];
    private final @Nullable Object[] cells = new @Nullable Object[encoder.names().size()];

    @Override
    public void fill(List<LeafBatch> leaves, int count, ByteBuffer into, BatchPlace place) {
      ByteBuffer bytes = into.duplicate().clear();
      boolean isFloat = row().dtype() == DType.FLOAT32;
      int size = (int) row().bytes();
      for (int record = 0; record < count; record++) {
        ByteBuffer row = bytes.position(record * size).slice().order(ByteOrder.LITTLE_ENDIAN);
        try {
          readCells(leaves, record, cells, encoder.names(), place);
          if (isFloat) {
            encoder.encode(cells, floats);
            row.asFloatBuffer().put(floats);
          } else {
            encoder.encode(cells, longs);
            row.asLongBuffer().put(longs);
          }
        } catch (TableValueException e) {
          String problem = place.of(record) + ", " + e.getMessage();
          place.refuse(record, new ParquetException(Problem.VALUE, problem, e));
        } catch (ParquetException e) {
          place.refuse(record, e);
        }
      }
    }
  }

  /** Reads the values of a row. */
  static void readCells(
      List<LeafBatch> leaves,
      int record,
      @Nullable Object[] cells,
      List<String> names,
      BatchPlace place) {
    for (int i = 0; i < cells.length; i++) {
      try {
        cells[i] = leaves.get(i).cell(record);
      } catch (UnfitValueException e) {
        throw place.unfit(record, names.get(i), e.problem());
      }
    }
  }
}
