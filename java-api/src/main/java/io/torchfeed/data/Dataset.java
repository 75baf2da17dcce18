// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * Samples that Java code makes, each written straight into the memory of its batch.
 *
 * <pre>{@code
 * record Squares(long size) implements Dataset {
 *   public List<RowSpec> columns() {
 *     return List.of(RowSpec.of(DType.FLOAT32), RowSpec.of(DType.INT64));
 *   }
 *
 *   public void read(long index, SampleWriter sample) {
 *     sample.putFloat(0, (float) index * index);
 *     sample.putLong(1, index);
 *   }
 * }
 * }</pre>
 *
 * <p>The loader's workers call {@link #read} from several threads at once; it must be a function of
 * index, {@link SampleWriter#epoch} and {@link SampleWriter#random} for the feed not to depend on
 * workers. Nothing it does can harm the loader: what it throws, of any kind, reaches the consumer
 * at the sample's batch as {@link SampleException}.
 */
public interface Dataset {
  /**
   * The number of samples.
   *
   * @return at least 0, always the same
   */
  long size();

  /**
   * What a sample has of each column.
   *
   * @return at least one column, always the same
   */
  List<RowSpec> columns();

  /**
   * Which columns hold samples of different lengths; by default none.
   *
   * @return at most one for each column, always the same
   */
  default List<VariableLength> variableLengths() {
    return List.of();
  }

  /**
   * Writes a sample: all elements of each column.
   *
   * @param index which sample, in [0, size())
   * @param sample takes the sample; valid in this call and thread only
   * @throws Exception if the sample cannot be made
   */
  void read(long index, SampleWriter sample) throws Exception;

  /**
   * Some samples of this dataset, in a given order.
   *
   * @param indices dataset indices, each in [0, size()); copied
   * @return a dataset of as many samples
   * @throws IllegalArgumentException if an index is outside of its range
   */
  default Dataset subset(long... indices) {
    return new SubsetDataset(this, indices.clone());
  }

  /**
   * Datasets one behind the other.
   *
   * @param parts datasets of the same columns and variable lengths, at least one
   * @return a dataset of all their samples
   * @throws IllegalArgumentException if there is none, or their columns differ
   */
  static Dataset concat(List<Dataset> parts) {
    return new ConcatDataset(List.copyOf(parts));
  }

  /**
   * Objects of any type, each turned into a sample on the workers.
   *
   * @param <T> the type of the objects
   * @param objects the objects by index
   * @param collator writes an object as a sample
   * @return a dataset of as many samples
   */
  static <T> Dataset of(ObjectDataset<T> objects, Collator<? super T> collator) {
    return new CollatedDataset<>(objects, collator);
  }
}
