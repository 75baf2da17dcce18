// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.BalanceReport;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.StepGrouping;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import java.io.PrintStream;
import java.util.Locale;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.LongStream;

/**
 * A program that prints the balance, padding and randomness of each plan, on five loads of 50,000
 * samples with batches of 32 at 8 and 64 ranks.
 *
 * <p>{@code real} is the cost of a step's slowest rank over the mean of the ranks; {@code bound} is
 * a lower bound for any division of that step with the same counts; {@code padded} is {@code real}
 * with each sample as long as the longest of its batch; {@code totals} is the spread of the ranks
 * over the epoch; {@code padding} is the share of padding to the longest sample of a batch; {@code
 * again} is the share of batch-mates that are batch-mates again in the next epoch.
 */
public final class BalanceTable {
  private static final int SAMPLES = 50_000;
  private static final int BATCH_SIZE = 32;
  private static final int[] WORLD_SIZES = {8, 64};
  private static final long SEED = 1;

  private BalanceTable() {}

  /**
   * Prints the table.
   *
   * @param args none
   */
  public static void main(String[] args) {
    PrintStream out = System.out;
    out.println(
        "load       ranks  plan                 real mean     p99   bound  padded mean     p99"
            + "  totals %  padding %  again %");
    for (Load load : Load.values()) {
      Costs costs = load.costs();
      for (int worldSize : WORLD_SIZES) {
        for (Plan plan : Plan.values()) {
          out.println(line(load, worldSize, plan, plan.report(costs, worldSize)));
        }
      }
    }
  }

  private static String line(Load load, int worldSize, Plan plan, BalanceReport report) {
    return String.format(
        Locale.ROOT,
        "%-10s %5d  %-20s %9.4f  %6.4f  %6.3f  %11.4f  %6.4f  %8.3f  %9.2f  %7.2f",
        load.name().toLowerCase(Locale.ROOT),
        worldSize,
        plan.label,
        report.real().mean(),
        report.real().p99(),
        report.bound().mean(),
        report.padded().mean(),
        report.padded().p99(),
        100 * report.rankSpread(),
        100 * report.padding(),
        100 * report.randomness().batchMates());
  }

  private enum Load {
    LOGNORMAL,
    ZIPF,
    UNIFORM,
    CLUSTERS,
    GIANT;

    Costs costs() {
      Random random = new Random(SEED);
      return Costs.computed(SAMPLES, index -> cost(index, random));
    }

    private long cost(long index, Random random) {
      return switch (this) {
        case LOGNORMAL -> Math.max(1, Math.round(Math.exp(4 + 0.8 * random.nextGaussian())));
        case ZIPF -> Math.min(5_000, 10 * zipf(random, 1.5));
        case UNIFORM -> 10 + random.nextInt(491);
        case CLUSTERS -> random.nextBoolean() ? 50 : 500;
        case GIANT -> index == SAMPLES / 3 ? 20_000 : 10 + random.nextInt(491);
      };
    }

    /** Source: Devroye, Non-Uniform Random Variate Generation (1986), chapter X.6. */
    private static long zipf(Random random, double exponent) {
      double power = Math.pow(2, exponent - 1);
      while (true) {
        double x = Math.floor(Math.pow(1 - random.nextDouble(), -1 / (exponent - 1)));
        double t = Math.pow(1 + 1 / x, exponent - 1);
        if (random.nextDouble() * x * (t - 1) / (power - 1) <= t / power) {
          return (long) Math.min(x, 1_000_000);
        }
      }
    }
  }

  private enum Plan {
    RANDOM("random") {
      @Override
      BalanceReport report(Costs costs, int worldSize) {
        return equal(
            costs,
            worldSize,
            rank -> PythonDistributedSampler.of(costs.size(), Part.rank(rank).of(worldSize)));
      }
    },
    BAGUA("Bagua") {
      @Override
      BalanceReport report(Costs costs, int worldSize) {
        return equal(
            costs,
            worldSize,
            rank -> BaguaLoadBalancingSampler.of(costs, Part.rank(rank).of(worldSize)));
      }
    },
    LARGEST_FIRST("LPT") {
      @Override
      BalanceReport report(Costs costs, int worldSize) {
        return equal(
            costs,
            worldSize,
            balanced(builder(costs, worldSize).grouping(StepGrouping.MIXED).window(1)));
      }
    },
    MIXED("(a) equal counts") {
      @Override
      BalanceReport report(Costs costs, int worldSize) {
        return equal(
            costs, worldSize, balanced(builder(costs, worldSize).grouping(StepGrouping.MIXED)));
      }
    },
    BUCKETED("(b) bucketed") {
      @Override
      BalanceReport report(Costs costs, int worldSize) {
        return equal(costs, worldSize, balanced(builder(costs, worldSize)));
      }
    },
    TOKEN_BUDGET("(c) token budget") {
      @Override
      BalanceReport report(Costs costs, int worldSize) {
        LongSummaryStatistics all = LongStream.range(0, SAMPLES).map(costs::at).summaryStatistics();
        long budget = Math.max(all.getMax(), BATCH_SIZE * all.getSum() / SAMPLES);
        TokenBudgetBatchSampler rank0 =
            TokenBudgetBatchSampler.of(costs, budget, Part.rank(0).of(worldSize)).withSeed(SEED);
        return BalanceReport.over(costs, worldSize).batchSamplers(rank0::forRank);
      }
    };

    private final String label;

    Plan(String label) {
      this.label = label;
    }

    abstract BalanceReport report(Costs costs, int worldSize);

    private static BalanceReport equal(Costs costs, int worldSize, IntFunction<Sampler> ranks) {
      return BalanceReport.over(costs, worldSize).samplers(BATCH_SIZE, ranks);
    }

    private static LoadBalancingDistributedSampler.Builder builder(Costs costs, int worldSize) {
      return LoadBalancingDistributedSampler.builder(costs, Part.rank(0).of(worldSize), BATCH_SIZE);
    }

    private static IntFunction<Sampler> balanced(LoadBalancingDistributedSampler.Builder builder) {
      LoadBalancingDistributedSampler rank0 = builder.build();
      return rank0::forRank;
    }
  }
}
