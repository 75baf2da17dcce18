// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A batch function whose batches end before the sum of their costs would exceed a limit. Immutable.
 *
 * @param costs the cost of each sample of the dataset
 * @param limit the maximum sum, at least 1 and at least every cost
 */
record CostSumBatches(Costs costs, long limit)
    implements BaguaLoadBalancingBatchSampler.BatchFunction {
  CostSumBatches {
    if (limit < 1) {
      throw new IllegalArgumentException("limit must be at least 1, got " + limit);
    }
    for (int i = 0; i < costs.size(); i++) {
      if (costs.at(i) > limit) {
        throw new IllegalArgumentException(
            "every sample must fit the limit %d, got cost %d at index %d; raise the limit or cut the sample"
                .formatted(limit, costs.at(i), i));
      }
    }
  }

  @Override
  public int[] sizes(long[] indices) {
    int[] sizes = new int[indices.length];
    int last = 0;
    long sum = 0;
    for (long index : indices) {
      long cost = costs.at(index);
      if (cost > limit - sum) {
        last++;
        sum = 0;
      }
      sizes[last]++;
      sum += cost;
    }
    return Arrays.copyOf(sizes, last + 1);
  }

  /**
   * Returns the maximum number of samples in a batch: as many of the cheapest as fit within the
   * limit.
   */
  int largest() {
    long[] ascending = IntStream.range(0, costs.size()).mapToLong(costs::at).sorted().toArray();
    int count = 0;
    long sum = 0;
    while (count < ascending.length && ascending[count] <= limit - sum) {
      sum += ascending[count++];
    }
    return Math.max(1, count);
  }

  String name() {
    return "sumOfCosts(%s, %d)".formatted(costs.digest(), limit);
  }
}
