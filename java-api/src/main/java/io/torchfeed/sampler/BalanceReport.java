// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.Locale;
import java.util.function.IntFunction;

/**
 * What a plan does before anything is trained with it: how equal the ranks' work is in each step,
 * how much of it is padding, and how random the order still is. Immutable.
 *
 * <pre>{@code
 * BalanceReport report =
 *     BalanceReport.over(costs, 8)
 *         .samplers(32, rank -> new StridedSampler(new RandomSampler(costs.size(), 0), 8, rank));
 * System.out.println(report.table());
 * }</pre>
 *
 * <p>The <i>real cost</i> of a batch is the sum of its samples' costs, its <i>padded cost</i> their
 * number times the largest one: what it costs when all are padded to the longest. A step lasts as
 * long as its slowest rank, so its <i>imbalance</i> is the largest cost of a rank over the mean of
 * the ranks: 1 is perfect, 1.5 means that a third of the machines' time is spent waiting. A rank
 * that has no batch in a step has cost 0 in it.
 *
 * @param steps number of steps of the epoch: the batches of the rank that has most
 * @param samples number of indices that all ranks deliver in the epoch, padding included
 * @param paddingSamples how many of those are flagged as padding
 * @param real imbalance of the real cost over the steps
 * @param padded imbalance of the padded cost over the steps
 * @param bound what no division of the same steps can be below in real cost: 1, or where one sample
 *     is larger than the mean of the ranks, that sample and as many of the smallest ones of the
 *     step as the smallest batch still needs
 * @param rankSpread how the ranks' real cost of the whole epoch differs: (max - min) / mean
 * @param paddedRankSpread the same for the padded cost
 * @param padding share of the padded cost that is not real, in [0, 1]
 * @param stepPadding the same if all ranks pad to the longest sample of the step
 * @param slowestCost the real cost of the slowest rank, summed over the steps: how long an epoch
 *     lasts
 * @param slowestPaddedCost the same for the padded cost
 * @param randomness how the order of the next epoch differs from this one
 */
public record BalanceReport(
    long steps,
    long samples,
    long paddingSamples,
    Imbalance real,
    Imbalance padded,
    Imbalance bound,
    double rankSpread,
    double paddedRankSpread,
    double padding,
    double stepPadding,
    double slowestCost,
    double slowestPaddedCost,
    Randomness randomness) {

  /**
   * A ratio over the steps of an epoch, each at least 1; an epoch without steps has 1.
   *
   * @param mean the mean over the steps
   * @param p99 the 99th percentile, interpolated linearly between steps
   * @param max the largest
   */
  public record Imbalance(double mean, double p99, double max) {}

  /**
   * How an epoch differs from the one after it. Padding is left out; of a sample that comes more
   * than once in an epoch its last place counts.
   *
   * @param batchMates the share of a sample's batch-mates (same batch, so same rank and step) that
   *     are its batch-mates again, mean over the samples that have any; random order: the number of
   *     mates over that of all other samples
   * @param stepMates the same for the samples that share a step
   * @param betweenEpochs correlation, over the samples, of the steps in which they come in the two
   *     epochs, in [-1, 1]; random order: about 0, the same order: 1
   * @param withCost correlation of a sample's cost and the step in which it comes, in [-1, 1];
   *     random order: about 0, shortest first: near 1
   */
  public record Randomness(
      double batchMates, double stepMates, double betweenEpochs, double withCost) {}

  /**
   * Begins a report.
   *
   * @param costs the cost of each sample of the dataset
   * @param worldSize number of ranks, at least 1
   * @return what reads a plan and makes the report
   * @throws IllegalArgumentException if {@code worldSize} is outside of [1, 1048576]
   */
  public static Reader over(Costs costs, int worldSize) {
    return new Reader(requireNonNull(costs, "costs"), worldSize, 0);
  }

  /**
   * This report as text, one line a figure.
   *
   * @return lines of a name and its figures, each ended by a line feed
   */
  public String table() {
    return line("steps, samples, padding samples", "%d  %d  %d", steps, samples, paddingSamples)
        + line("step imbalance, real cost", "%s", text(real))
        + line("  no division can be below", "%s", text(bound))
        + line("step imbalance, padded cost", "%s", text(padded))
        + line("rank totals, real and padded", "%s  %s", share(rankSpread), share(paddedRankSpread))
        + line("padding, of batch and of step", "%s  %s", share(padding), share(stepPadding))
        + line("batch-mates, step-mates again", "%s", text(randomness))
        + line(
            "correlation, epochs and cost",
            "%.4f  %.4f",
            randomness.betweenEpochs(),
            randomness.withCost());
  }

  private static String line(String name, String format, Object... figures) {
    return String.format(Locale.ROOT, "%-32s", name)
        + String.format(Locale.ROOT, format, figures)
        + "\n";
  }

  private static String text(Imbalance ratio) {
    return String.format(
        Locale.ROOT, "mean %.4f  p99 %.4f  max %.4f", ratio.mean(), ratio.p99(), ratio.max());
  }

  private static String text(Randomness randomness) {
    return share(randomness.batchMates()) + "  " + share(randomness.stepMates());
  }

  private static String share(double share) {
    return String.format(Locale.ROOT, "%.3f %%", 100 * share);
  }

  /**
   * Reads the plans of all ranks, step by step, and makes the report. Immutable.
   *
   * <p>Both ways of reading open a cursor of each rank, first of the epoch and then of the next
   * one, and close them. They take 4 bytes a sample, 4 bytes a batch and 24 bytes a step, beside
   * what the cursors need.
   */
  public static final class Reader {
    private static final int MOST_RANKS = 1 << 20;

    private final Costs costs;
    private final int worldSize;
    private final long epoch;

    private Reader(Costs costs, int worldSize, long epoch) {
      Arguments.requireRank(costs.size(), worldSize, 0);
      Arguments.requireEpoch(epoch);
      if (worldSize > MOST_RANKS) {
        throw new IllegalArgumentException(
            "worldSize must be in [1, %d], got %d".formatted(MOST_RANKS, worldSize));
      }
      if (epoch == Long.MAX_VALUE) {
        throw new IllegalArgumentException(
            "epoch must be below %d, since it is compared with the next one".formatted(epoch));
      }
      this.costs = costs;
      this.worldSize = worldSize;
      this.epoch = epoch;
    }

    /**
     * A reader of another epoch than 0.
     *
     * @param epoch the number of the epoch, at least 0
     * @return the reader of that epoch
     * @throws IllegalArgumentException if {@code epoch} is negative, or the last one, which no
     *     other one follows
     */
    public Reader epoch(long epoch) {
      return new Reader(costs, worldSize, epoch);
    }

    /**
     * The report on samplers whose ranks read a fixed number of indices at a time.
     *
     * @param batchSize number of samples of a batch, at least 1
     * @param plan gives the sampler of a rank, asked once for each
     * @return the report
     * @throws IllegalArgumentException if {@code batchSize} is less than 1, or an index has no cost
     */
    public BalanceReport samplers(int batchSize, IntFunction<? extends Sampler> plan) {
      if (batchSize < 1) {
        throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
      }
      return batchSamplers(rank -> new FixedBatches(plan.apply(rank), batchSize));
    }

    /**
     * The report on samplers of batches.
     *
     * @param plan gives the sampler of a rank, asked once for each
     * @return the report
     * @throws IllegalArgumentException if an index has no cost
     */
    public BalanceReport batchSamplers(IntFunction<? extends BatchSampler> plan) {
      BatchSampler[] ranks = new BatchSampler[worldSize];
      for (int rank = 0; rank < worldSize; rank++) {
        ranks[rank] = requireNonNull(plan.apply(rank), "plan");
      }
      return new BalanceMeter(costs, ranks).measure(epoch);
    }
  }
}
