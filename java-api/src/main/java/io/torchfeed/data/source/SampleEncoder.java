// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * An encoder that writes objects as samples.
 *
 * @param <T> the type of the objects
 */
public interface SampleEncoder<T> {
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
   * Writes an object: all elements of each column. Called concurrently by several threads.
   *
   * @param object the object
   * @param sample receives the sample; valid only in this call and thread
   * @throws Exception if the object cannot be written
   */
  void write(T object, SampleWriter sample) throws Exception;
}
