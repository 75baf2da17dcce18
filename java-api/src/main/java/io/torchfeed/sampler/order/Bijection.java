// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

/**
 * A permutation of [0, n) that leaves argument checks to its callers. Any number of threads may use
 * it.
 */
sealed interface Bijection permits ShuffledTable, MixedRadixNetwork, WideNetwork {
  /** Returns the value at an index. */
  long at(long index);

  /** Returns the index of a value. */
  long indexOf(long value);

  /** Writes the values at {@code start}, {@code start + stride}, …, which all lie in [0, n). */
  default void at(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      into[from + i] = at(start + i * stride);
    }
  }
}
