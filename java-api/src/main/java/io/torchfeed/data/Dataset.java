// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * A dataset of samples produced by Java code, each written straight into the memory of its batch.
 *
 * <pre>{@code
 * record Squares(long size) implements Dataset {
 *   public List<RowSpec> columns() {
 *     return List.of(RowSpec.of("square", DType.FLOAT32), RowSpec.of("root", DType.INT64));
 *   }
 *
 *   public void read(long index, SampleWriter sample) {
 *     sample.putFloat(0, (float) index * index);
 *     sample.putLong(1, index);
 *   }
 * }
 * }</pre>
 *
 * <p>The loader's workers call {@link #read} concurrently from several threads; it must be a
 * function of index, {@link SampleWriter#epoch} and {@link SampleWriter#random} for the batches not
 * to depend on the workers. It cannot break the loader: anything it throws reaches the consumer as
 * a {@link SampleException} in place of the sample's batch.
 */
public interface Dataset {
  /**
   * Returns the number of samples.
   *
   * @return at least 0, always the same
   */
  long size();

  /**
   * Returns the dtype and shape of each column of a sample.
   *
   * @return at least one column, always the same
   */
  List<RowSpec> columns();

  /**
   * Returns the columns whose samples differ in length; by default none.
   *
   * @return at most one for each column, always the same
   */
  default List<VariableLength> variableLengths() {
    return List.of();
  }

  /**
   * Writes a sample: all elements of each column.
   *
   * @param index the index of the sample, in [0, size())
   * @param sample receives the sample; valid only in this call and thread
   * @throws Exception if the sample cannot be produced
   */
  void read(long index, SampleWriter sample) throws Exception;

  /**
   * Returns a dataset of some samples of this dataset, in the given order.
   *
   * @param indices dataset indices, each in [0, size()); copied
   * @return a dataset of {@code indices.length} samples
   * @throws IllegalArgumentException if an index is out of range
   */
  default Dataset subset(long... indices) {
    requireNonNull(indices, "indices");
    return new SubsetDataset(this, indices.clone());
  }

  /**
   * Returns the concatenation of datasets.
   *
   * @param parts datasets of the same columns and variable lengths, at least one
   * @return a dataset of all their samples
   * @throws IllegalArgumentException if there is none, or their columns or variable lengths differ
   */
  static Dataset concat(List<Dataset> parts) {
    return new ConcatDataset(Checks.copyOf("parts", parts));
  }
}
