// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.bytedeco.pytorch.Tensor;

/**
 * A trained model that executors apply to the rows of a DataFrame: its bytes, the code that makes a
 * module of them, and the columns that it takes and gives.
 *
 * <p>Immutable and serializable: each {@code with} method returns a new model.
 */
public final class RankModel implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final int BATCH_SIZE = 256;

  /** A module on an executor. Used by one thread. */
  public interface Forward extends AutoCloseable {
    /**
     * Runs the forward pass, without gradients; tensors that are made here are freed after it.
     *
     * @param columns the input columns of a batch, {@code [B, shape...]} each; valid in this call
     * @return the output {@code [B, shape...]}, of the dtype of the output column
     */
    Tensor of(Tensor[] columns);

    /** Frees the module. */
    @Override
    void close();
  }

  /** Makes a module on an executor. */
  @FunctionalInterface
  public interface Factory extends Serializable {
    /**
     * Makes a module in evaluation mode.
     *
     * @param model for {@link ModelBytes#load}
     * @return the module; closed at the end of the partition
     */
    Forward open(byte[] model);
  }

  /** The parameters. */
  private final byte[] model;

  /** The code. */
  private final Factory factory;

  /** The column that is added. */
  private final RowColumn output;

  /** The columns that the module takes. */
  private final RowColumn[] inputs;

  /** The rows of a batch. */
  private final int batchSize;

  private RankModel(
      byte[] model, Factory factory, RowColumn output, RowColumn[] inputs, int batchSize) {
    this.model = model;
    this.factory = factory;
    this.output = output;
    this.inputs = inputs;
    this.batchSize = batchSize;
  }

  /**
   * Returns a model that takes batches of 256 rows.
   *
   * @param model the result of {@link ModelBytes#of}; not copied
   * @param factory makes the module on each executor
   * @param output the column to add: a number, or an array of the shape's elements
   * @param inputs the columns that the module takes, at least one
   * @return the model
   * @throws IllegalArgumentException if there are no inputs
   */
  public static RankModel of(byte[] model, Factory factory, RowColumn output, RowColumn... inputs) {
    requireNonNull(model, "model");
    requireNonNull(factory, "factory");
    requireNonNull(output, "output");
    List<RowColumn> all = Checks.copyOf("inputs", Arrays.asList(requireNonNull(inputs, "inputs")));
    if (all.isEmpty()) {
      throw new IllegalArgumentException("at least one input is needed, got none");
    }
    return new RankModel(model, factory, output, all.toArray(RowColumn[]::new), BATCH_SIZE);
  }

  /**
   * Returns this model with batches of another size.
   *
   * @param rows the rows of a batch, at least 1
   * @return the new model
   * @throws IllegalArgumentException if it is below 1
   */
  public RankModel withBatchSize(int rows) {
    if (rows < 1) {
      throw new IllegalArgumentException("rows must be at least 1, got " + rows);
    }
    return new RankModel(model, factory, output, inputs, rows);
  }

  Forward open() {
    return factory.open(model);
  }

  RowColumn output() {
    return output;
  }

  List<RowColumn> inputs() {
    return List.of(inputs);
  }

  int batchSize() {
    return batchSize;
  }

  /**
   * Requires that the buffers of a batch can be as large as its columns.
   *
   * @throws SparkRanksException if not
   */
  void requireBuffers() {
    for (RowColumn input : inputs) {
      if (input.row().bytes() > Integer.MAX_VALUE / batchSize) {
        throw new SparkRanksException(
            Problem.SCHEMA,
            ("the column %s must have fewer than 2^31 bytes in a batch, got %d rows of %d bytes;"
                    + " lower the number by withBatchSize")
                .formatted(input, batchSize, input.row().bytes()));
      }
    }
  }

  /**
   * Returns a schema with the output column.
   *
   * @throws SparkRanksException if it has a column of this name already
   */
  StructType extended(StructType schema) {
    if (Arrays.asList(schema.fieldNames()).contains(output.name())) {
      throw new SparkRanksException(
          Problem.SCHEMA,
          "the DataFrame has a column %s already; drop it, or name the output otherwise"
              .formatted(output.name()));
    }
    return schema.add(output.name(), outputType(), false);
  }

  private DataType outputType() {
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
}
