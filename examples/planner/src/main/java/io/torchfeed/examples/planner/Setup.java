// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.order.SeekablePermutation;

/**
 * The input of a plan.
 *
 * @param costs the cost of each sample
 * @param worldSize number of ranks, in [1, 65536]
 * @param batchSize samples per rank and step, for plans with a fixed number; at least 1
 * @param budget maximum padded cost of a batch of varying size
 * @param seed seed of all random choices
 */
record Setup(Costs costs, int worldSize, int batchSize, long budget, long seed) {
  Setup {
    requireInRange("--world-size", worldSize, 1 << 16);
    requireInRange("--batch-size", batchSize, 1 << 20);
    requireInRange("--world-size times --batch-size", (long) worldSize * batchSize, 1 << 21);
    requireInRange("--budget", budget, (1L << 42) - 1);
    long longest = longest(costs);
    if (budget < longest) {
      throw CommandException.wrongUse(
          "--budget must hold the largest cost %d, got %d".formatted(longest, budget));
    }
  }

  Part part(int rank) {
    return Part.rank(rank).of(worldSize);
  }

  /** Returns the average cost of {@code batchSize} samples, but at least the largest cost. */
  static long budgetOf(Costs costs, int batchSize) {
    double sum = 0;
    for (int i = 0; i < costs.size(); i++) {
      sum += costs.at(i);
    }
    long average = (long) Math.min((1L << 42) - 1.0, sum / costs.size() * batchSize);
    return Math.max(1, Math.max(longest(costs), average));
  }

  /** Returns some of the costs, drawn at random without replacement; all if there are no more. */
  static Costs drawn(Costs costs, int wanted, long seed) {
    if (wanted == 0 || wanted >= costs.size()) {
      return costs;
    }
    SeekablePermutation order = SeekablePermutation.of(costs.size(), seed, 0);
    return Costs.computed(wanted, position -> costs.at(order.at(position)));
  }

  private static long longest(Costs costs) {
    long longest = 0;
    for (int i = 0; i < costs.size(); i++) {
      longest = Math.max(longest, costs.at(i));
    }
    return longest;
  }

  private static void requireInRange(String option, long value, long most) {
    if (value < 1 || value > most) {
      throw CommandException.wrongUse(
          "%s must be in [1, %d], got %d".formatted(option, most, value));
    }
  }
}
