// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randint;
import io.torchfeed.internal.Randperm;
import io.torchfeed.internal.WindowOrder;
import io.torchfeed.sampler.cursor.Stride;
import java.util.Arrays;
import java.util.BitSet;

/**
 * The remaining samples of an epoch of Bagua's plan, sorted, and the chunks that they form for a
 * number of ranks. Immutable.
 */
final class BaguaChunks {
  private final BaguaLoadBalancingSampler plan;
  private final long epoch;
  private final int worldSize;
  private final long bound; // exclusive upper bound of the noise
  private final int[] sorted;

  /** Creates the chunks of a whole epoch. */
  BaguaChunks(BaguaLoadBalancingSampler plan, long epoch, int worldSize) {
    this.plan = plan;
    this.epoch = epoch;
    this.worldSize = worldSize;
    Costs costs = plan.costs();
    long least = costs.largest();
    for (int i = 0; i < costs.size(); i++) {
      least = Math.min(least, costs.at(i));
    }
    bound = (long) ((costs.largest() - least) * plan.level() + 1);
    sorted = plan.shuffle() ? sortedWithNoise() : sortedByCost();
  }

  private BaguaChunks(BaguaChunks all, int[] left, int worldSize) {
    plan = all.plan;
    epoch = all.epoch;
    bound = all.bound;
    sorted = left;
    this.worldSize = worldSize;
  }

  int worldSize() {
    return worldSize;
  }

  /** Returns the remaining samples, in ascending order of cost plus noise. */
  int[] sorted() {
    return sorted;
  }

  /** Returns the number of chunks that the remaining samples form. */
  int count() {
    return (int) Stride.sizeOfLongestRank(sorted.length, worldSize, plan.tail());
  }

  /** Returns the chunk numbers in delivery order. */
  int[] order() {
    int count = count();
    int[] order = new int[count];
    if (plan.shuffle()) {
      Mt19937 generator = new Mt19937(plan.seed() + epoch);
      generator.skip((long) plan.costs().size() * Randint.outputs(bound));
      Randperm.write(generator, count, order, 0, count);
    } else {
      Arrays.setAll(order, i -> i);
    }
    return order;
  }

  /**
   * Returns the rest, for another number of ranks, after each rank has delivered this many chunks.
   */
  BaguaChunks after(long chunks, int newWorldSize) {
    int[] order = order();
    BitSet delivered = new BitSet(sorted.length);
    for (int i = 0; i < chunks; i++) {
      long first = (long) order[i] * worldSize;
      delivered.set((int) first, (int) Math.min(sorted.length, first + worldSize));
    }
    return without(delivered, newWorldSize);
  }

  /** Returns the rest, without the samples at the given places of the sorted list. */
  BaguaChunks without(BitSet delivered, int newWorldSize) {
    int[] left = new int[sorted.length - delivered.cardinality()];
    int place = delivered.nextClearBit(0);
    for (int i = 0; i < left.length; i++) {
      left[i] = sorted[place];
      place = delivered.nextClearBit(place + 1);
    }
    return new BaguaChunks(this, left, newWorldSize);
  }

  private int[] sortedByCost() {
    Costs costs = plan.costs();
    return WindowOrder.sorted(costs.size(), costs.largest(), costs::at);
  }

  private int[] sortedWithNoise() {
    Costs costs = plan.costs();
    Mt19937 generator = new Mt19937(plan.seed() + epoch);
    long[] keys = new long[costs.size()];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = costs.at(i) + Randint.next(generator, bound);
    }
    return WindowOrder.sorted(keys.length, costs.largest() + bound, i -> keys[i]);
  }
}
