// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
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

  /** The way of rows that do not fit. */
  private final InvalidRows invalid;

  private RankModel(
      byte[] model,
      Factory factory,
      RowColumn output,
      RowColumn[] inputs,
      int batchSize,
      InvalidRows invalid) {
    this.model = model;
    this.factory = factory;
    this.output = output;
    this.inputs = inputs;
    this.batchSize = batchSize;
    this.invalid = invalid;
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
    return new RankModel(
        model, factory, output, all.toArray(RowColumn[]::new), BATCH_SIZE, InvalidRows.ERROR);
  }

  /**
   * Returns a model that Python has compiled, in batches of 256 rows. A batch of one row that the
   * package does not take, since Python's dynamic sizes are at least 2, is run as two equal rows.
   *
   * @param model the content of a {@code .pt2} package, as {@link
   *     io.torchfeed.compiled.CompiledModel} opens it on each executor; not copied. Each row of its
   *     first output must depend on the same row of its inputs alone.
   * @param output the column to add, from the first output of the package: a number, or an array of
   *     the shape's elements
   * @param inputs the columns that the package takes, in its order, at least one
   * @return the model
   * @throws IllegalArgumentException if there are no inputs
   */
  public static RankModel ofCompiled(byte[] model, RowColumn output, RowColumn... inputs) {
    return of(model, CompiledForward::open, output, inputs);
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
    return new RankModel(model, factory, output, inputs, rows, invalid);
  }

  /**
   * Returns this model with another way of rows whose inputs do not fit; by default {@link
   * InvalidRows#ERROR}.
   *
   * @param way of these rows; they are left out, or have null as their output
   * @return the new model
   */
  public RankModel withInvalidRows(InvalidRows way) {
    return new RankModel(model, factory, output, inputs, batchSize, requireNonNull(way, "way"));
  }

  /**
   * Makes the module, in this process.
   *
   * @return the module; the caller closes it
   */
  public Forward open() {
    return factory.open(model);
  }

  /**
   * Returns the column that is added.
   *
   * @return the column
   */
  public RowColumn output() {
    return output;
  }

  /**
   * Returns the columns that the module takes.
   *
   * @return an unmodifiable list
   */
  public List<RowColumn> inputs() {
    return List.of(inputs);
  }

  /**
   * Returns the way of rows whose inputs do not fit.
   *
   * @return the way
   */
  public InvalidRows invalidRows() {
    return invalid;
  }

  /**
   * Returns the number of rows of a batch.
   *
   * @return at least 1
   */
  public int batchSize() {
    return batchSize;
  }
}
