// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.memory.DType;
import java.util.List;

/**
 * A tensor as a pickle describes it; its elements are in a storage beside.
 *
 * @param offset the elements of the storage before the first one
 * @param sizes of each dimension, at least 0
 * @param strides in elements, one for each dimension, at least 0
 */
record PickledTensor(
    PickledStorage storage, DType dtype, long offset, List<Long> sizes, List<Long> strides) {
  /**
   * A storage.
   *
   * @param key its name
   * @param dtype of its elements
   * @param offset the elements before it, if it is a view of the storage with that key
   */
  record PickledStorage(String key, DType dtype, long offset) {}

  /**
   * Returns the elements from the first to the last that is used.
   *
   * @return at least 0; 0 if the tensor is empty
   * @throws ArithmeticException if they, or the elements of the tensor, are too many for a long
   */
  long span() {
    long span = 1;
    long elements = 1;
    for (int i = 0; i < sizes.size(); i++) {
      long size = sizes.get(i);
      elements = Math.multiplyExact(elements, size);
      span = size == 0 ? span : Math.addExact(span, Math.multiplyExact(size - 1, strides.get(i)));
    }
    return elements == 0 ? 0 : span;
  }

  long[] sizeArray() {
    return sizes.stream().mapToLong(Long::longValue).toArray();
  }

  long[] strideArray() {
    return strides.stream().mapToLong(Long::longValue).toArray();
  }
}
