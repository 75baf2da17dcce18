// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.internal.Checks;
import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The columns of a model as columns of a DataFrame. */
public final class ModelSchema {
  private ModelSchema() {}

  /**
   * Returns a schema with the output column.
   *
   * @param invalid of rows that do not fit; the output may be null if they are kept
   * @throws SparkRanksException if it has a column of this name already
   */
  public static StructType extended(StructType schema, RowColumn output, InvalidRows invalid) {
    if (Arrays.asList(schema.fieldNames()).contains(output.name())) {
      throw new SparkRanksException(
          Problem.SCHEMA,
          "the DataFrame has a column %s already; drop it, or name the output otherwise"
              .formatted(output.name()));
    }
    return schema.add(output.name(), typeOf(output), invalid == InvalidRows.KEEP);
  }

  private static DataType typeOf(RowColumn output) {
    DataType element =
        switch (output.row().dtype()) {
          case BOOL -> DataTypes.BooleanType;
          case INT8 -> DataTypes.ByteType;
          case INT16, UINT8 -> DataTypes.ShortType;
          case INT32 -> DataTypes.IntegerType;
          case INT64 -> DataTypes.LongType;
          case FLOAT32 -> DataTypes.FloatType;
          case FLOAT64 -> DataTypes.DoubleType;
          default ->
              throw new SparkRanksException(
                  Problem.SCHEMA, "no type of Spark's has the values of " + output);
        };
    return output.row().shape().isEmpty() ? element : DataTypes.createArrayType(element, false);
  }

  /**
   * Requires that the buffers of a batch can be as large as its columns.
   *
   * @throws SparkRanksException if not
   */
  public static void requireBuffers(RankModel model) {
    for (RowColumn input : model.inputs()) {
      if (input.row().bytes() > Integer.MAX_VALUE / model.batchSize()) {
        throw new SparkRanksException(
            Problem.SCHEMA,
            ("the column %s must have fewer than 2^31 bytes in a batch, got %d rows of %d bytes;"
                    + " lower the number by withBatchSize")
                .formatted(input, model.batchSize(), input.row().bytes()));
      }
    }
  }

  /**
   * Returns the bytes of some rows, for an array or a buffer.
   *
   * @throws IllegalArgumentException if they are too many for one
   */
  public static int batchBytes(RowColumn column, int rows) {
    return Checks.requireArrayLength(
        "%d rows of column %s, the batch size of the model,".formatted(rows, column.name()),
        column.row().bytes() * rows);
  }
}
