// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The permutation of few numbers: a table, since a cipher on so few bits would not reach all
 * permutations alike.
 *
 * <p>Format: start with t[i] = i; for i = n-1 down to 1 swap t[i] with t[j], j the key stream's
 * next number below i+1.
 */
final class ShuffledTable implements Bijection {
  /** The largest n that is kept as a table. */
  static final int LARGEST = 4096;

  private final char[] values;
  private final char[] indices;

  ShuffledTable(int n, SplitMix keys) {
    values = new char[n];
    for (int i = 0; i < n; i++) {
      values[i] = (char) i;
    }
    for (int i = n - 1; i > 0; i--) {
      int j = (int) keys.nextBelow(i + 1L);
      char other = values[j];
      values[j] = values[i];
      values[i] = other;
    }
    indices = new char[n];
    for (int i = 0; i < n; i++) {
      indices[values[i]] = (char) i;
    }
  }

  @Override
  public long at(long index) {
    return values[(int) index];
  }

  @Override
  public long indexOf(long value) {
    return indices[(int) value];
  }
}
