// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.SplitMix;
import org.jspecify.annotations.Nullable;

/**
 * A permutation of few values: a table, since a cipher on so few bits would not reach all
 * permutations with equal probability.
 *
 * <p>Format: start with t[i] = i; for i = n-1 down to 1 swap t[i] with t[j], where j is the key
 * stream's next number below i+1.
 */
final class ShuffledTable implements Bijection {
  /** The largest n that is stored as a table. */
  static final int MAX_SIZE = 4096;

  private final char[] values;
  private volatile char @Nullable [] indices; // computed on first use

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
  }

  @Override
  public long at(long index) {
    return values[(int) index];
  }

  @Override
  public long indexOf(long value) {
    char[] all = indices;
    if (all == null) {
      all = inverse();
      indices = all;
    }
    return all[(int) value];
  }

  private char[] inverse() {
    char[] inverse = new char[values.length];
    for (int i = 0; i < values.length; i++) {
      inverse[values[i]] = (char) i;
    }
    return inverse;
  }
}
