// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.RowColumn;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;

/**
 * The output of a batch as values of a DataFrame.
 *
 * @param column the output column
 * @param bytes the elements of all rows
 */
public record BatchOutput(RowColumn column, ByteBuffer bytes) {
  /**
   * Copies an output.
   *
   * @param tensor {@code [rows, shape...]} on any device; its temporaries belong to the caller's
   *     scope
   * @throws IllegalStateException if it has another dtype or number of elements
   */
  public static BatchOutput of(RowColumn column, Tensor tensor, int rows) {
    DType dtype = DType.of(tensor.scalar_type());
    long elements = column.row().elements() * rows;
    if (dtype != column.row().dtype() || tensor.numel() != elements) {
      throw new IllegalStateException(
          "the model must return %d rows of %s, got %d elements of %s"
              .formatted(rows, column, tensor.numel(), dtype));
    }
    byte[] bytes = new byte[ModelSchema.batchBytes(column, rows)];
    Tensor dense = tensor.cpu().contiguous();
    new BytePointer(dense.data_ptr()).get(bytes);
    return new BatchOutput(column, ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()));
  }

  /** Returns the value of a row: a number, or a list of them. */
  public Object value(int row) {
    int elements = (int) column.row().elements();
    if (column.row().shape().isEmpty()) {
      return element(row);
    }
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < elements; i++) {
      values.add(element(row * elements + i));
    }
    return values.toArray();
  }

  private Object element(int i) {
    return switch (column.row().dtype()) {
      case BOOL -> bytes.get(i) != 0;
      case INT8 -> bytes.get(i);
      case UINT8 -> (short) (bytes.get(i) & 0xff);
      case INT16 -> bytes.getShort(i * Short.BYTES);
      case INT32 -> bytes.getInt(i * Integer.BYTES);
      case INT64 -> bytes.getLong(i * Long.BYTES);
      case FLOAT32 -> bytes.getFloat(i * Float.BYTES);
      case FLOAT64 -> bytes.getDouble(i * Double.BYTES);
      default -> throw new AssertionError("RowColumn.of refuses " + column);
    };
  }
}
