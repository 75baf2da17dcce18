// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.graph.CsrMatrix.Repeated;
import java.util.Arrays;

/** In-place operations that put the columns of each row in ascending order. */
final class RowOrder {
  private RowOrder() {}

  /** Sorts each row; the sort is stable. */
  static void sort(int[] starts, int[] indices, double[] values) {
    long[] keys = new long[0];
    double[] moved = new double[0];
    for (int row = 0; row < starts.length - 1; row++) {
      int start = starts[row];
      int length = starts[row + 1] - start;
      if (isSorted(indices, start, start + length)) {
        continue;
      }
      if (keys.length < length) {
        keys = new long[length + length / 2];
        moved = new double[keys.length];
      }
      for (int i = 0; i < length; i++) {
        keys[i] = ((long) indices[start + i] << Integer.SIZE) | i;
      }
      Arrays.sort(keys, 0, length);
      System.arraycopy(values, start, moved, 0, length);
      for (int i = 0; i < length; i++) {
        indices[start + i] = (int) (keys[i] >>> Integer.SIZE);
        values[start + i] = moved[(int) keys[i]];
      }
    }
  }

  private static boolean isSorted(int[] indices, int start, int end) {
    for (int i = start + 1; i < end; i++) {
      if (indices[i - 1] > indices[i]) {
        return false;
      }
    }
    return true;
  }

  /** Merges equal neighbours into one; returns the number of entries left. */
  static int unite(
      int[] starts,
      int[] indices,
      double[] values,
      EdgeLoader.DuplicatePolicy duplicates,
      Repeated repeated) {
    int kept = 0;
    int start = 0;
    for (int row = 0; row < starts.length - 1; row++) {
      int end = starts[row + 1];
      int first = kept;
      for (int i = start; i < end; i++) {
        if (kept == first || indices[kept - 1] != indices[i]) {
          indices[kept] = indices[i];
          values[kept] = values[i];
          kept++;
        } else if (duplicates == EdgeLoader.DuplicatePolicy.REFUSE) {
          throw repeated.at(row, indices[i]);
        } else {
          values[kept - 1] =
              duplicates == EdgeLoader.DuplicatePolicy.SUM
                  ? values[kept - 1] + values[i]
                  : values[i];
        }
      }
      start = end;
      starts[row + 1] = kept;
    }
    return kept;
  }
}
