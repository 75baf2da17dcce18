// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Padding that keeps steps balanced if the costs have gaps. A costly sample left over among cheap
 * ones makes its step uneven whichever rank it goes to, so each cluster of costs is padded to a
 * multiple of the number of ranks.
 *
 * <p>The widest gaps become the boundaries of clusters, as long as there is padding for them. The
 * rest of the padding is distributed over the clusters in multiples of the number of ranks, in
 * proportion to their size.
 */
final class EvenPadding {
  /** Gaps that change the cost of a batch by less than this fraction are ignored. */
  private static final double TOLERANCE = 0.004;

  /** The maximum number of gaps that are tried. */
  private static final int MAX_GAPS = 64;

  private final long[] costs; // ascending
  private final int worldSize;
  private final int[] starts; // of the clusters, then the end of the last one
  private final int[] missing; // padding samples that each cluster still needs

  private EvenPadding(long[] costs, int worldSize, int[] starts, int[] missing) {
    this.costs = costs;
    this.worldSize = worldSize;
    this.starts = starts;
    this.missing = missing;
  }

  /**
   * Divides samples into clusters.
   *
   * @param costs the costs of the samples to pad, ascending, at least one
   * @param padding number of samples to add to fill the last step
   * @return the padding; null if the costs have no gap that matters
   */
  static @Nullable EvenPadding of(long[] costs, int padding, int worldSize, int batchSize) {
    TreeSet<Integer> bounds = new TreeSet<>(List.of(0, costs.length));
    int spare = padding - missing(costs.length, worldSize);
    for (int gap : widestGaps(costs, batchSize)) {
      int start = bounds.lower(gap);
      int end = bounds.higher(gap);
      int more =
          missing(gap - start, worldSize)
              + missing(end - gap, worldSize)
              - missing(end - start, worldSize);
      if (Math.min(gap - start, end - gap) >= worldSize && more <= spare) {
        bounds.add(gap);
        spare -= more;
      }
    }
    if (bounds.size() == 2) {
      return null;
    }
    int[] starts = bounds.stream().mapToInt(i -> i).toArray();
    int[] missing = new int[starts.length - 1];
    Arrays.setAll(missing, i -> missing(starts[i + 1] - starts[i], worldSize));
    EvenPadding even = new EvenPadding(costs, worldSize, starts, missing);
    even.distribute(spare, padding);
    return even;
  }

  /** Returns the number of samples that a cluster lacks to be a multiple of {@code worldSize}. */
  private static int missing(int size, int worldSize) {
    return (worldSize - size % worldSize) % worldSize;
  }

  /**
   * Returns the positions after the widest gaps, widest first, relative to the cost before the gap.
   */
  private static List<Integer> widestGaps(long[] costs, int batchSize) {
    List<Integer> gaps = new ArrayList<>();
    for (int i = 1; i < costs.length; i++) {
      if (width(costs, i) > TOLERANCE * batchSize) {
        gaps.add(i);
      }
    }
    gaps.sort(Comparator.comparingDouble(i -> -width(costs, i)));
    return gaps.subList(0, Math.min(gaps.size(), MAX_GAPS));
  }

  private static double width(long[] costs, int gap) {
    return (costs[gap] - costs[gap - 1]) / (double) Math.max(1, costs[gap - 1]);
  }

  private void distribute(int spare, int padding) {
    for (int left = spare; left > 0; left -= worldSize) {
      int neediest = 0;
      double most = Double.NEGATIVE_INFINITY;
      for (int i = 0; i < missing.length; i++) {
        double due = (double) padding * (starts[i + 1] - starts[i]) / costs.length - missing[i];
        if (due > most) {
          neediest = i;
          most = due;
        }
      }
      missing[neediest] += worldSize;
    }
  }

  /**
   * Offers a sample as padding.
   *
   * @return true if a cluster takes it
   */
  boolean take(long cost) {
    for (int i = 0; i < missing.length; i++) {
      if (missing[i] > 0 && cost >= costs[starts[i]] && cost <= costs[starts[i + 1] - 1]) {
        missing[i]--;
        return true;
      }
    }
    return false;
  }
}
