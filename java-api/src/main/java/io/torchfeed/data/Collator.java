// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * Writes objects as samples.
 *
 * @param <T> the type of the objects
 */
public interface Collator<T> {
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
   * Writes an object: all elements of each column. Called by several threads at once.
   *
   * @param object the object
   * @param sample takes the sample; valid in this call and thread only
   * @throws Exception if the object cannot be written
   */
  void write(T object, SampleWriter sample) throws Exception;
}
