// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.StepGrouping;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import java.io.PrintStream;
import java.util.Locale;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.stream.LongStream;

/** A program that prints the seconds to plan epochs of ten million samples for one of 64 ranks. */
public final class PlanningTime {
  private static final int SAMPLES = 10_000_000;
  private static final int RANKS = 64;
  private static final int BATCH = 32;
  private static final int EPOCHS = 3;

  private PlanningTime() {}

  /**
   * Plans epochs with the named plan.
   *
   * @param args {@code equal-counts}, {@code bucketed} or {@code token-budget}
   */
  public static void main(String[] args) {
    Random random = new Random(0);
    Costs costs =
        Costs.computed(SAMPLES, index -> 1 + (long) Math.exp(4 + 0.8 * random.nextGaussian()));
    BatchSampler plan = plan(args.length == 1 ? args[0] : "", costs);
    long[] batch = new long[plan.maxBatchSize()];
    PrintStream out = System.out;
    out.print(args[0]);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
      long start = System.nanoTime();
      long read = 0;
      try (BatchCursor cursor = plan.epoch(epoch)) {
        for (int size = cursor.next(batch, 0); size > 0; size = cursor.next(batch, 0)) {
          read += size;
        }
      }
      double seconds = (System.nanoTime() - start) / 1e9;
      out.printf(Locale.ROOT, "  epoch %d: %.2f s (%d samples)", epoch, seconds, read);
    }
    out.println();
  }

  private static BatchSampler plan(String name, Costs costs) {
    return switch (name) {
      case "equal-counts" -> equalCounts(costs, StepGrouping.MIXED);
      case "bucketed" -> equalCounts(costs, StepGrouping.BUCKETED);
      case "token-budget" ->
          TokenBudgetBatchSampler.of(costs, budget(costs), Part.rank(0).of(RANKS));
      default -> throw new IllegalArgumentException("unknown plan \"" + name + '"');
    };
  }

  /** Returns the cost of an average batch, but at least the largest cost. */
  private static long budget(Costs costs) {
    LongSummaryStatistics all =
        LongStream.range(0, costs.size()).map(costs::at).summaryStatistics();
    return Math.max(all.getMax(), (long) (all.getAverage() * BATCH));
  }

  private static BatchSampler equalCounts(Costs costs, StepGrouping grouping) {
    return FixedSizeBatchSampler.of(
        LoadBalancingDistributedSampler.builder(costs, Part.rank(0).of(RANKS), BATCH)
            .grouping(grouping)
            .build(),
        BATCH);
  }
}
