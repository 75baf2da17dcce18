// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/** The samples of an epoch of Bagua's plan, sorted, and the chunks that they make. */
final class BaguaChunks {
  private final BaguaLoadBalancingSampler plan;
  private final long epoch;
  private final long bound; // of the noise
  private int[] sorted;

  BaguaChunks(BaguaLoadBalancingSampler plan, long epoch) {
    this.plan = plan;
    this.epoch = epoch;
    Costs costs = plan.costs();
    long least = costs.largest();
    for (int i = 0; i < costs.size(); i++) {
      least = Math.min(least, costs.at(i));
    }
    bound = (long) ((costs.largest() - least) * plan.level() + 1);
    sorted = plan.shuffle() ? sortedWithNoise() : sortedByCost();
  }

  /** The samples that are left, in ascending order of cost with noise. */
  int[] sorted() {
    return sorted;
  }

  /** How many chunks the samples that are left make. */
  int count(int worldSize) {
    return (int) Stride.sizeOfARank(sorted.length, worldSize, 0, plan.tail());
  }

  /** The chunks in the order in which they are delivered. */
  int[] order(int worldSize) {
    int count = count(worldSize);
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

  /** Takes out the samples of the first chunks that each rank has delivered. */
  void remove(int worldSize, long chunks) {
    int[] order = order(worldSize);
    boolean[] delivered = new boolean[sorted.length];
    for (int i = 0; i < chunks; i++) {
      long first = (long) order[i] * worldSize;
      int end = (int) Math.min(sorted.length, first + worldSize);
      Arrays.fill(delivered, (int) first, end, true);
    }
    int left = 0;
    for (int i = 0; i < sorted.length; i++) {
      if (!delivered[i]) {
        sorted[left++] = sorted[i];
      }
    }
    sorted = Arrays.copyOf(sorted, left);
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
