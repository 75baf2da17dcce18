// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.Tail;
import java.util.Arrays;
import java.util.BitSet;

/** The batches of one rank in an epoch, or in the rest of one; all ranks have the same number. */
final class BaguaBatches {
  private final BaguaLoadBalancingBatchSampler plan;
  private final long epoch;
  private final BaguaChunks chunks;
  private final BaguaCursor order; // only read by position, which is stateless
  private final int[] ends; // end of each of the rank's own batches
  private final int count;

  /**
   * Computes the batches of all ranks and keeps the batches of the plan's rank, if it is one of
   * these ranks.
   */
  BaguaBatches(BaguaLoadBalancingBatchSampler plan, long epoch, BaguaChunks chunks) {
    this.plan = plan;
    this.epoch = epoch;
    this.chunks = chunks;
    int[] chunkOrder = chunks.order();
    order = cursor(chunkOrder, plan.part().rank());
    int[] own = {};
    int least = chunkOrder.length == 0 ? 0 : Integer.MAX_VALUE;
    int most = 0;
    for (int rank = 0; rank < chunks.worldSize() && chunkOrder.length > 0; rank++) {
      int[] theirs = ends(chunkOrder, rank);
      least = Math.min(least, theirs.length);
      most = Math.max(most, theirs.length);
      if (rank == plan.part().rank()) {
        own = theirs;
      }
    }
    ends = own;
    count = plan.tail() == Tail.PAD ? most : least;
  }

  /**
   * Returns the rest, divided over {@code worldSize} ranks, after each rank has delivered this many
   * batches.
   */
  BaguaBatches after(long delivered, int worldSize) {
    int[] chunkOrder = chunks.order();
    int[] sorted = chunks.sorted();
    BitSet places = new BitSet(sorted.length);
    for (int rank = 0; rank < chunks.worldSize() && chunkOrder.length > 0; rank++) {
      int[] theirs = ends(chunkOrder, rank);
      int end = theirs[(int) Math.min(delivered, theirs.length) - 1];
      BaguaCursor ofRank = cursor(chunkOrder, rank);
      for (int i = 0; i < end; i++) {
        long place = ofRank.place(i);
        if (place < sorted.length) {
          places.set((int) place);
        }
      }
    }
    return new BaguaBatches(plan, epoch, chunks.without(places, worldSize));
  }

  private BaguaCursor cursor(int[] chunkOrder, int rank) {
    return new BaguaCursor(plan, chunks, chunkOrder, rank);
  }

  private int[] ends(int[] chunkOrder, int rank) {
    long[] indices = new long[chunkOrder.length];
    cursor(chunkOrder, rank).read(0, 1, indices, 0, indices.length);
    boolean present = chunks.worldSize() == plan.part().worldSize();
    int[] ends = sizes(plan, indices, rank, present ? plan.maxBatchSize() : Integer.MAX_VALUE);
    Arrays.parallelPrefix(ends, Integer::sum);
    return ends;
  }

  /**
   * Returns the batch sizes that the batch function computes for a rank's indices, checked and
   * copied.
   */
  private static int[] sizes(
      BaguaLoadBalancingBatchSampler plan, long[] indices, int rank, int largest) {
    int expected = indices.length;
    String rule = "the batch function " + plan.name() + " must return sizes ";
    int[] sizes =
        requireNonNull(plan.function().sizes(indices), rule + "but returned null").clone();
    long sum = 0;
    for (int i = 0; i < sizes.length; i++) {
      if (sizes[i] < 1 || sizes[i] > largest) {
        throw new IllegalStateException(
            rule
                + "in [1, %d], got %d for batch %d of rank %d"
                    .formatted(largest, sizes[i], i, rank));
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

  /** Returns the number of batches, equal on all ranks. */
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
