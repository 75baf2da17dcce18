// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A permutation of [0, n) whose arguments were checked. Any number of threads may use it. */
sealed interface Bijection permits ShuffledTable, MixedRadixNetwork, WideNetwork {
  /** The value at an index. */
  long at(long index);

  /** The index of a value. */
  long indexOf(long value);

  /** The values at {@code start}, {@code start + stride}, …, all inside of [0, n). */
  default void at(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      into[from + i] = at(start + i * stride);
    }
  }
}
