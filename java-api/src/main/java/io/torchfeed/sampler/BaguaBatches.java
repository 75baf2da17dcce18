// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;

/** The batches of one rank's epoch, as many as every other rank has. Immutable. */
final class BaguaBatches {
  private final long epoch;
  private final PositionCursor order; // read by position only, which has no state
  private final int[] ends; // of the rank's own batches
  private final int count;

  private BaguaBatches(long epoch, PositionCursor order, int[] ends, int count) {
    this.epoch = epoch;
    this.order = order;
    this.ends = ends;
    this.count = count;
  }

  /** Forms the batches of all ranks and keeps those of the plan's rank. */
  static BaguaBatches of(BaguaLoadBalancingBatchSampler plan, long epoch) {
    BaguaLoadBalancingSampler sampler = plan.sampler();
    BaguaChunks chunks = HeapMemory.planned(sampler, () -> new BaguaChunks(sampler, epoch));
    int[] sorted = chunks.sorted();
    int[] order = chunks.order(sampler.worldSize());
    BaguaCursor own = new BaguaCursor(sampler, sorted, order, 0);
    if (order.length == 0) {
      return new BaguaBatches(epoch, own, new int[0], 0);
    }
    int[] ends = {};
    int least = Integer.MAX_VALUE;
    int most = 0;
    for (int rank = 0; rank < sampler.worldSize(); rank++) {
      long[] indices = new long[order.length];
      new BaguaCursor(sampler.forRank(rank), sorted, order, 0)
          .read(0, 1, indices, 0, indices.length);
      int[] sizes = sizes(plan, indices, rank);
      least = Math.min(least, sizes.length);
      most = Math.max(most, sizes.length);
      if (rank == sampler.rank()) {
        ends = sizes;
        Arrays.parallelPrefix(ends, Integer::sum);
      }
    }
    return new BaguaBatches(epoch, own, ends, plan.tail() == Tail.PAD ? most : least);
  }

  /** What the batch function makes of a rank's indices, checked and copied. */
  private static int[] sizes(BaguaLoadBalancingBatchSampler plan, long[] indices, int rank) {
    int expected = indices.length;
    String rule = "the batch function " + plan.name() + " must give sizes ";
    int[] sizes = requireNonNull(plan.function().sizes(indices), rule + "and gave null").clone();
    long sum = 0;
    for (int i = 0; i < sizes.length; i++) {
      if (sizes[i] < 1 || sizes[i] > plan.largestBatch()) {
        throw new IllegalStateException(
            rule
                + "in [1, %d], got %d for batch %d of rank %d"
                    .formatted(plan.largestBatch(), sizes[i], i, rank));
      }
      sum += sizes[i];
    }
    if (sum != expected) {
      throw new IllegalStateException(
          rule
              + "whose sum is the number of indices %d, got %d for rank %d"
                  .formatted(expected, sum, rank));
    }
    return sizes;
  }

  long epoch() {
    return epoch;
  }

  /** The number of batches, on every rank. */
  int count() {
    return count;
  }

  int size(int batch) {
    return ends[own(batch)] - start(batch);
  }

  void read(int batch, long[] into, int from) {
    order.read(start(batch), 1, into, from, size(batch));
  }

  boolean isPadding(int batch, int element) {
    return batch >= ends.length || order.paddingAt((long) start(batch) + element);
  }

  private int start(int batch) {
    int own = own(batch);
    return own == 0 ? 0 : ends[own - 1];
  }

  private int own(int batch) {
    return batch % ends.length;
  }
}
